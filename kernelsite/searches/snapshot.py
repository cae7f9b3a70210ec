"""Everything a page needs of a search in six queries, all from one state of the database."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypedDict

from django.db import connection, transaction
from django.utils import timezone

from kernelsite.searches.limits import limits
from kernelsite.searches.models import Evaluation, Event, Search
from kernelsite.searches.rows import (
    CandidateRow,
    SearchRow,
    StructureRow,
    candidate_row,
    search_row,
    structure_row,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


class EventRow(TypedDict):
    """EVENT."""

    s: int
    k: str
    at: str
    d: dict[str, object]


class Snapshot(TypedDict):
    """State of a search at `seq`; later events are merged into it."""

    epoch: str
    seq: int
    server_time: str
    search: SearchRow
    structures: list[StructureRow]
    candidates: list[CandidateRow]
    events: list[EventRow]


@contextmanager
def one_view() -> Iterator[None]:
    """Let every read inside see one state of the database.

    On SQLite, `atomic` would begin IMMEDIATE and so queue behind writers; a deferred, query-only
    transaction reads beside them. Inside a caller's transaction that one is the view.
    """
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA query_only = ON")
            cursor.execute("BEGIN DEFERRED")
            try:
                yield
            finally:
                cursor.execute("ROLLBACK")
                cursor.execute("PRAGMA query_only = OFF")
    else:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield


def take(search_id: int) -> Snapshot:
    """The snapshot of a search.

    Raises:
        Search.DoesNotExist: there is no such search.
    """
    with one_view():
        search = Search.objects.select_related("workload", "library").get(pk=search_id)
        return {
            "epoch": search.epoch,
            "seq": search.event_seq,
            "server_time": timezone.now().isoformat(),
            "search": search_row(search),
            "structures": _structures(search),
            "candidates": _candidates(search),
            "events": _last_events(search),
        }


def _structures(search: Search) -> list[StructureRow]:
    rows = list(search.structures.order_by("number"))
    numbers = {row.pk: row.number for row in rows}
    return [structure_row(row, parent=numbers.get(row.parent_id or 0)) for row in rows]


def _candidates(search: Search) -> list[CandidateRow]:
    """One row per (candidate, purpose). Only columns that rows show: results, blueprints and items stay unread."""
    rows = (
        Evaluation.objects.filter(search=search, current=True)
        .select_related("candidate__structure", "step")
        .only(
            "purpose", "tier", "state", "status", "speedup", "low", "high", "median_us", "order",
            "device_seconds", "spent_device_seconds", "finished_at", "started_at", "created_at",
            "candidate__number", "candidate__knobs", "candidate__structure__number",
            "candidate__structure__search_id", "step__number", "step__stage", "step__kind",
        )
        .order_by("id")
    )  # fmt: skip
    return [candidate_row(row) for row in rows]


def _last_events(search: Search) -> list[EventRow]:
    """The log's tail. Its rows are in the snapshot already, so only the text is kept."""
    first = search.event_seq - limits().snapshot_events
    rows = (
        search.events.filter(seq__gt=first).order_by("seq").values_list("seq", "kind", "at", "payload__text")
    )
    return [{"s": seq, "k": kind, "at": at.isoformat(), "d": {"text": text}} for seq, kind, at, text in rows]


def events_after(search_id: int, after: int, limit: int) -> list[EventRow]:
    """Events that a client lacks, in order."""
    rows = Event.objects.filter(search_id=search_id, seq__gt=after).order_by("seq")[:limit]
    return [{"s": row.seq, "k": row.kind, "at": row.at.isoformat(), "d": row.payload} for row in rows]
