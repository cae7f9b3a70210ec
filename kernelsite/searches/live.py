"""What a live socket reads: may this person still watch, where the log stands, which events are lacking."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from channels.db import database_sync_to_async
from django.contrib.auth.models import AnonymousUser

from kernelsite.accounts.models import Membership
from kernelsite.searches.limits import limits
from kernelsite.searches.models import Search
from kernelsite.searches.snapshot import EventRow, events_after
from search.records import SearchState

BATCH = 100
"""Events of one frame: about 100 kB at most."""
TOO_FAR_BEHIND = 1000
"""A client that lacks more is told to fetch the snapshot."""
ECHO_S = 0.15
SYNC_GAP_S = 1.0
LONGEST_MESSAGE = 1000
CROWD, CROWD_GAP_S = 100, 1.0


@dataclass(frozen=True)
class Standing:
    """Where a search's log stands."""

    epoch: str
    seq: int
    final: bool


def standing(scope: dict[str, Any], search_id: int) -> Standing | None:
    """Where the log stands; None when the watcher may not, or not any more, see the search.

    Asked anew each time: a socket outlives log-out, removal from the team and deactivation.
    """
    user = scope.get("user", AnonymousUser())
    session = scope.get("session")
    if not user.is_authenticated or (session is not None and not session.exists(session.session_key)):
        return None
    teams = Membership.objects.filter(user_id=user.pk, user__is_active=True).values("team")
    row = (
        Search.objects.filter(pk=search_id, team__in=teams).values_list("epoch", "event_seq", "state").first()
    )
    return Standing(row[0], row[1], SearchState(row[2]).is_final) if row else None


def place(wish: dict[str, Any], state: Standing) -> tuple[int, str]:
    """From which event on a client is served that says `after` and `epoch`; both come from outside.

    Returns:
        The last event it counts as having, and why it must fetch the snapshot, empty when it need not.
    """
    text = str(wish.get("after", 0))
    after = int(text) if text.isdecimal() and len(text) < 12 else 0
    if wish.get("epoch", state.epoch) != state.epoch or after > state.seq:
        return state.seq, "another epoch"
    if state.seq - after > TOO_FAR_BEHIND:
        return state.seq, "too far behind"
    return after, ""


def query_of(scope: dict[str, Any]) -> dict[str, Any]:
    """`after` and `epoch` of a socket's address."""
    return dict(parse_qsl(scope["query_string"].decode(errors="replace")))


def sync_of(text: str) -> dict[str, Any] | None:
    """A client's `sync`; anything else, too long, or no JSON counts as nothing said."""
    if len(text) > LONGEST_MESSAGE:
        return None
    try:
        message = json.loads(text)
    except ValueError:
        return None
    return message if isinstance(message, dict) and message.get("t") == "sync" else None


def frame_gap_s(sockets: int) -> float:
    """Rest between frames of one socket, longer when the process serves many."""
    return CROWD_GAP_S if sockets > CROWD else limits().frame_gap_s


def standing_and_events(
    scope: dict[str, Any], search_id: int, after: int
) -> tuple[Standing | None, list[EventRow]]:
    """Standing and the next batch of events; the standing is read first, so its `seq` is never ahead of them."""
    state = standing(scope, search_id)
    return state, events_after(search_id, after, BATCH) if state is not None else []


read_standing = database_sync_to_async(standing)
read = database_sync_to_async(standing_and_events)
