"""Rows of one structure's candidate table: sorted, filtered, paged; the candidate page walks the same order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.core.paginator import Page, Paginator
from django.db.models import F, Q, QuerySet

from kernelsite.searches.keys import read_key
from kernelsite.searches.models import Evaluation, Structure
from kernelsite.searches.models.work import PURPOSE_SUFFIX
from search.records import EvaluationStatus

if TYPE_CHECKING:
    from django.db.models.expressions import OrderBy

PAGE_SIZE = 50


@dataclass(frozen=True)
class Sort:
    """One order of the table; the title stands in its column."""

    title: str
    column: str
    is_descending: bool = False

    @property
    def order(self) -> OrderBy:
        """Rows without a value come last."""
        column = F(self.column)
        return column.desc(nulls_last=True) if self.is_descending else column.asc(nulls_last=True)


SORTS: dict[str, Sort] = {
    "measured": Sort("#", "order"),
    "id": Sort("Candidate", "candidate__number"),
    "speedup": Sort("Speed-up", "speedup", is_descending=True),
    "time": Sort("Time", "median_us"),
    "device": Sort("Device", "device_seconds", is_descending=True),
    "outcome": Sort("Outcome", "status"),
}
HEADS = ("id", "outcome", "measured", "Stage", "speedup", "95 % interval", "time", "device", "Knobs")
"""Columns of the table: keys of `SORTS`, and titles of those that do not sort."""
_NUMBERS = {"measured", "speedup", "95 % interval", "time", "device"}


@dataclass(frozen=True)
class Head:
    """Head of one column."""

    title: str
    key: str
    """Of the sort; empty where the column has none."""
    is_number: bool
    is_descending: bool


def heads() -> list[Head]:
    """Heads of all columns."""
    found = []
    for name in HEADS:
        sort = SORTS.get(name)
        title, key = (sort.title, name) if sort else (name, "")
        found.append(Head(title, key, name in _NUMBERS, bool(sort and sort.is_descending)))
    return found


PASSED = Q(status=EvaluationStatus.PASSED)
FILTERS: dict[str, Q] = {
    "all": Q(),
    "passed": PASSED,
    "failed": ~PASSED & ~Q(status=""),
    "open": Q(status=""),
}


def ordered(structure: Structure, sort: str, outcome: str = "all") -> QuerySet[Evaluation]:
    """Current evaluations of a structure without their results; unknown words mean the first of each kind."""
    rows = Evaluation.objects.filter(candidate__structure=structure, current=True).defer("result")
    rows = rows.filter(FILTERS.get(outcome, Q()))
    return rows.order_by(SORTS.get(sort, SORTS["measured"]).order, "candidate__number", "id")


def page_of(rows: QuerySet[Evaluation], number: str) -> Page[Evaluation]:
    """One page with what its rows are shown with; a number that is none means the first, one too high the last."""
    return Paginator(for_rows(rows), PAGE_SIZE).get_page(number)


def for_rows(rows: QuerySet[Evaluation]) -> QuerySet[Evaluation]:
    """With all that `candidate_row` reads, and without the documents that it does not."""
    documents = ("result", "step__item", "step__proposal", "step__outcome", "candidate__structure__blueprint")
    return rows.select_related("candidate__structure", "step").defer(*documents)


def page_holding(rows: QuerySet[Evaluation], structure: Structure, words: str) -> tuple[int, str] | None:
    """Page number and short id of a candidate; None when it is not among the rows.

    Args:
        rows: as the table shows them.
        structure: of the rows.
        words: `31`, `142.17.031` or `C-142.17.031c`.
    """
    words = words.strip().lower().removeprefix("c-")
    place = read_key(words if "." in words else f"{structure.key}.{words}")
    if place is None or f"{place.search}.{place.structure}" != structure.key:
        return None
    found = list(rows.values_list("candidate__number", "purpose"))
    if (place.number, place.purpose) not in found:
        return None
    page = found.index((place.number, place.purpose)) // PAGE_SIZE + 1
    return page, f"{structure.key}.{place.number:03d}{PURPOSE_SUFFIX[place.purpose]}"


@dataclass(frozen=True)
class Neighbours:
    """The rows around one, with its place."""

    before: Evaluation | None
    after: Evaluation | None
    place: int
    count: int


def neighbours(evaluation: Evaluation, structure: Structure, sort: str) -> Neighbours:
    """Rows before and after one in the table's order."""
    keys = list(ordered(structure, sort).values_list("pk", flat=True))
    if evaluation.pk not in keys:
        return Neighbours(None, None, 0, len(keys))
    index = keys.index(evaluation.pk)
    wanted = {
        side: keys[at] for side, at in (("before", index - 1), ("after", index + 1)) if 0 <= at < len(keys)
    }
    found = (
        Evaluation.objects.defer("result")
        .select_related("candidate__structure")
        .in_bulk(list(wanted.values()))
    )
    return Neighbours(
        found.get(wanted.get("before", 0)), found.get(wanted.get("after", 0)), index + 1, len(keys)
    )
