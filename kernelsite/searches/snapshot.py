"""Everything a page needs of a search in eight queries, nine with a model, all from one state of the database."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

from django.db import connection, transaction
from django.db.models import F, Min, Q
from django.utils import timezone

from kernelsite.searches.drafts import DraftRow, failed_drafts
from kernelsite.searches.limits import limits
from kernelsite.searches.models import AttemptState, Evaluation, Event, Search
from kernelsite.searches.models.work import PURPOSE_SUFFIX
from kernelsite.searches.rows import (
    ROW_STATE,
    CandidateRow,
    SearchRow,
    StructureRow,
    search_row,
    structure_row,
)
from search.records import EvaluationStatus

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

NUMBERS = (
    "order", "speedup", "low", "high", "median_us", "device_seconds", "spent_device_seconds", "spent_tokens",
    "spent_cost_usd",
)  # fmt: skip
CANDIDATE_COLUMNS = (
    "candidate__number", "candidate__structure__number", "candidate__knobs", "step__number", "step__stage",
    "step__kind", "purpose", "tier", "state", "status", "created_at", "started_at", "finished_at", *NUMBERS,
)  # fmt: skip
DOCUMENTS = ("workload__document", "library__document")
"""Large columns that no row shows; reading the library's takes milliseconds each time."""
SAMPLE_LENGTH = 300
"""Characters of a failure's message on the page; the candidate's own page has all of it."""


class EventRow(TypedDict):
    """EVENT."""

    s: int
    k: str
    at: str
    d: dict[str, object]


class Sample(TypedDict):
    """What the judge said of one candidate that failed in some way."""

    candidate: str
    text: str


class Snapshot(TypedDict):
    """State of a search at `seq`; later events are merged into it."""

    epoch: str
    seq: int
    server_time: str
    search: SearchRow
    structures: list[StructureRow]
    candidates: list[CandidateRow]
    samples: dict[str, Sample]
    """By cause: the first candidate that failed so."""
    drafts: list[DraftRow]
    """Those that brought nothing to judge."""
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
        rows = Search.objects.select_related("workload", "library").defer(*DOCUMENTS)
        search = rows.get(pk=search_id)
        return {
            "epoch": search.epoch,
            "seq": search.event_seq,
            "server_time": timezone.now().isoformat(),
            "search": search_row(search),
            "structures": _structures(search),
            "candidates": _candidates(search),
            "samples": _samples(search),
            "drafts": failed_drafts(search),
            "events": _last_events(search),
        }


def _structures(search: Search) -> list[StructureRow]:
    rows = list(search.structures.order_by("number"))
    numbers = {row.pk: row.number for row in rows}
    return [structure_row(row, parent=numbers.get(row.parent_id or 0)) for row in rows]


def _candidates(search: Search) -> list[CandidateRow]:
    """One row per (candidate, purpose). Only columns that rows show: results, blueprints and items stay unread."""
    rows = (
        Evaluation.objects.filter(search=search, current=True).order_by("id").values_list(*CANDIDATE_COLUMNS)
    )
    return [_candidate_row(search.pk, row) for row in rows.iterator(2000)]


def _candidate_row(search: int, columns: tuple[Any, ...]) -> CandidateRow:
    """`rows.candidate_row` from columns: five thousand model instances would cost a second."""
    number, structure, knobs, step, stage, kind, purpose, tier, state, status, *rest = columns
    created_at, started_at, finished_at, *numbers = rest
    return {
        "id": f"{search}.{structure}.{number:03d}{PURPOSE_SUFFIX[purpose]}",
        "number": number,
        "structure": structure,
        "step": step,
        "stage": stage,
        "kind": "variant" if kind == "variant" else "draft",
        "purpose": purpose,
        "tier": tier,
        "state": ROW_STATE[AttemptState(state)],
        "status": status or None,
        "knobs": knobs,
        "at": (finished_at or started_at or created_at).isoformat(),
        **dict(zip(NUMBERS, numbers, strict=True)),  # type: ignore[typeddict-item]  # their names are the columns'
    }


def _samples(search: Search) -> dict[str, Sample]:
    """One failure of each cause; results are read for these few rows only."""
    failed = Evaluation.objects.filter(search=search, current=True).exclude(
        status__in=["", EvaluationStatus.PASSED]
    )
    firsts = failed.order_by().values("status").annotate(first=Min("id")).values("first")
    rows = Evaluation.objects.filter(pk__in=firsts).select_related("candidate__structure")
    told = rows.only(
        "purpose", "status", "candidate__number", "candidate__structure__number",
        "candidate__structure__search_id",
    ).annotate(message=F("result__message"))  # fmt: skip
    return {row.status: {"candidate": row.key, "text": (row.message or "")[:SAMPLE_LENGTH]} for row in told}


def _last_events(search: Search) -> list[EventRow]:
    """The log's tail. Its rows are in the snapshot already, so only the text is kept."""
    first = search.event_seq - limits().snapshot_events
    rows = (
        search.events.filter(seq__gt=first).order_by("seq").values_list("seq", "kind", "at", "payload__text")
    )
    return [_text_row(*row) for row in rows]


def _text_row(seq: int, kind: str, at: datetime, text: str) -> EventRow:
    return {"s": seq, "k": kind, "at": at.isoformat(), "d": {"text": text}}


def events_after(search_id: int, after: int, limit: int) -> list[EventRow]:
    """Events that a client lacks, in order."""
    rows = Event.objects.filter(search_id=search_id, seq__gt=after).order_by("seq")[:limit]
    return [{"s": row.seq, "k": row.kind, "at": row.at.isoformat(), "d": row.payload} for row in rows]


@dataclass(frozen=True)
class Page:
    """A stretch of the log for reading: before or after a number, and only what fits the filters."""

    before: int | None = None
    after: int | None = None
    family: str = ""
    """Start of the kinds to show, e.g. `step.`."""
    structure: int | None = None

    def rows(self, search_id: int, limit: int) -> list[EventRow]:
        """Its events in order, as texts: the rows they carry are in the snapshot."""
        found = Event.objects.filter(search_id=search_id, kind__startswith=self.family)
        if self.structure is not None:
            found = found.filter(
                Q(payload__structure__number=self.structure) | Q(payload__candidate__structure=self.structure)
            )
        if self.after is not None:
            chosen = found.filter(seq__gt=self.after).order_by("seq")
        else:
            found = found if self.before is None else found.filter(seq__lt=self.before)
            chosen = found.order_by("-seq")
        texts = chosen.values_list("seq", "kind", "at", "payload__text")[:limit]
        return sorted((_text_row(*row) for row in texts), key=lambda row: row["s"])
