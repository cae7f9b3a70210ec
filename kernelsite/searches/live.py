"""What a live socket reads: may this person still watch, where the log stands, which events are lacking."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import parse_qsl

from channels.db import database_sync_to_async
from django.contrib.auth.models import AnonymousUser

from kernelsite.accounts.models import Membership, Session
from kernelsite.searches.limits import limits
from kernelsite.searches.models import Search
from kernelsite.searches.snapshot import events_after
from search.records import SearchState

if TYPE_CHECKING:
    from collections.abc import Sequence

BATCH = 100
"""Events of one frame: about 100 kB at most."""
TOO_FAR_BEHIND = 1000
"""A client that lacks more is told to fetch the snapshot."""
ECHO_S = 0.15
SYNC_GAP_S = 1.0
LAYER_S = 2.0
"""How long a socket waits for the broker to take it into a group."""
LONGEST_MESSAGE = 1000
CROWD, CROWD_GAP_S = 100, 0.5


@dataclass(frozen=True)
class Standing:
    """Where a search's log stands."""

    epoch: str
    seq: int
    final: bool


@dataclass(frozen=True)
class Watcher:
    """Who watches. Both are asked for anew each time: a socket outlives log-out and removal from the team."""

    user_id: int | None
    session_key: str | None
    has_session: bool


def watcher_of(scope: dict[str, Any]) -> Watcher:
    """The person and session of a socket."""
    user, session = scope.get("user", AnonymousUser()), scope.get("session")
    return Watcher(user.pk, session.session_key if session is not None else None, session is not None)


@dataclass(frozen=True)
class Ask:
    """One socket's question: may I still watch, and what comes after this event?"""

    watcher: Watcher
    after: int | None
    """None asks for no events."""


@dataclass(frozen=True)
class Answer:
    """Where the log stands, None for somebody who may not see it, and the next `delta`, if there is one."""

    state: Standing | None
    to: int = 0
    frame: str = ""


def read_all(search_id: int, asks: Sequence[Ask]) -> list[Answer]:
    """Answers to all who ask at a time; four queries when they stand at the same event, as most do.

    The standing is read first, so its `seq` is never ahead of the events.
    """
    row = Search.objects.filter(pk=search_id).values_list("epoch", "event_seq", "state", "team").first()
    if row is None:
        return [Answer(None) for _ in asks]
    state = Standing(row[0], row[1], SearchState(row[2]).is_final)
    allowed = _allowed(row[3], {ask.watcher for ask in asks})
    frames: dict[int, tuple[int, str]] = {}
    answers = []
    for ask in asks:
        if ask.watcher not in allowed:
            answers.append(Answer(None))
        elif ask.after is None or ask.after >= state.seq:
            answers.append(Answer(state))
        else:
            if ask.after not in frames:
                frames[ask.after] = _delta(search_id, ask.after)
            answers.append(Answer(state, *frames[ask.after]))
    return answers


def _allowed(team: int, watchers: set[Watcher]) -> set[Watcher]:
    people = {watcher.user_id for watcher in watchers} - {None}
    keys = {watcher.session_key for watcher in watchers} - {None}
    members = Membership.objects.filter(team=team, user__in=people, user__is_active=True)
    member_ids = set(members.values_list("user_id", flat=True)) if people else set()
    sessions = Session.objects.live().filter(session_key__in=keys)
    live_keys = set(sessions.values_list("session_key", flat=True)) if keys else set()
    return {
        watcher
        for watcher in watchers
        if watcher.user_id in member_ids and (not watcher.has_session or watcher.session_key in live_keys)
    }


def _delta(search_id: int, after: int) -> tuple[int, str]:
    """The frame that follows an event and the number of its last one; encoded once for everybody."""
    events = events_after(search_id, after, BATCH)
    if not events:
        return after, ""
    to = events[-1]["s"]
    return to, json.dumps({"t": "delta", "from": after + 1, "to": to, "events": events})


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


class Layer(Protocol):
    """What is used of a channel layer; channels ships no types."""

    async def new_channel(self) -> str:
        """A fresh name."""

    async def receive(self, channel: str) -> dict[str, Any]:
        """The next message."""

    async def group_add(self, group: str, channel: str) -> None:
        """Join."""

    async def group_discard(self, group: str, channel: str) -> None:
        """Leave."""


read = database_sync_to_async(read_all)
