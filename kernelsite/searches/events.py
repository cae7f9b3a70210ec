"""The log of a search: rows are written in the transaction of the change they tell, the doorbell rings after it.

`locked` is the one way to write to a running search; `append` is the one way to write an event.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.db import transaction
from django.utils import timezone

from kernelsite.searches.limits import limits, seconds
from kernelsite.searches.models import Evaluation, Event, Search, Structure
from kernelsite.searches.rows import candidate_row, live_row, structure_row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from search.records import EventKind

FROZEN = {
    "id",
    "team",
    "created_by",
    "workload",
    "library",
    "comparison",
    "settings",
    "idempotency_key",
    "epoch",
}
LIVE_FIELDS = [field.name for field in Search._meta.concrete_fields if field.name not in FROZEN]
TEXT_LENGTH = 300


class LeaseLostError(Exception):
    """Another driver has taken the search; the holder of the old fence must stop at once."""


@contextmanager
def locked(search_id: int, fence: int | None = None) -> Iterator[Search]:
    """One write transaction on a search: its row is locked first, saved last, and the bell rings on commit.

    Raises:
        LeaseLostError: `fence` is given and is not the search's any more.
    """
    with transaction.atomic():
        search = Search.objects.select_for_update().get(pk=search_id)
        if fence is not None:
            if search.fence != fence or not search.lease_owner:
                raise LeaseLostError(search.short)
            search.lease_until = timezone.now() + seconds(limits().driver_lease_s)
        before = search.event_seq
        yield search
        search.save(update_fields=LIVE_FIELDS)
        if search.event_seq > before:
            transaction.on_commit(lambda: ring(search.pk, search.event_seq), robust=True)


def append(
    search: Search,
    kind: EventKind,
    text: str,
    *,
    structure: Structure | None = None,
    evaluation: Evaluation | None = None,
    more: Mapping[str, object] | None = None,
) -> Event:
    """Write the next event of a search that the caller holds `locked`, with the rows that changed.

    `more` joins the payload: `draft`, a row of `drafts.py`, or, in a search's first event, `code`, the version of
    the program that froze its settings.
    """
    search.event_seq += 1
    search.last_event_at = timezone.now()
    payload: dict[str, object] = {"text": text[:TEXT_LENGTH], "search": live_row(search)}
    if structure is not None:
        payload["structure"] = structure_row(structure)
    if evaluation is not None:
        payload["candidate"] = candidate_row(evaluation)
    payload |= more or {}
    return Event.objects.create(
        search=search, seq=search.event_seq, kind=kind, payload=payload, at=search.last_event_at
    )


def group(search_id: int) -> str:
    """Channel-layer group of a search."""
    return f"search.{search_id}"


def ring(search_id: int, seq: int) -> None:
    """Tell the sockets of a search that there is more to read; a lost bell costs a heartbeat, no data."""
    layer = get_channel_layer()
    if layer is not None:
        async_to_sync(layer.group_send)(group(search_id), {"type": "search.bell", "seq": seq})
