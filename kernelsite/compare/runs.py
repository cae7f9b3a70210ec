"""What every search of a comparison did, evaluation by evaluation, read in one query."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kernelsite.searches.models import Evaluation, Search
from kernelsite.searches.models.work import PURPOSE_SUFFIX
from search.records import EvaluationStatus, Purpose

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

EVALUATIONS = "evaluations"


@dataclass(frozen=True)
class Axis:
    """A budget that curves can be drawn against."""

    name: str
    """Word in the address."""
    label: str
    title: str
    """Under the axis, with its unit."""


AXES: dict[str, Axis] = {
    axis.name: axis
    for axis in (
        Axis(EVALUATIONS, "evaluations", "evaluations of each search"),
        Axis("device", "device time", "device time of each search (s)"),
        Axis("wall", "wall clock", "wall clock since each search began (s)"),
        Axis("tokens", "tokens", "model tokens of each search"),
        Axis("cost", "cost", "model cost of each search (US$)"),
    )
}
COLUMNS = (
    "search",
    "order",
    "status",
    "speedup",
    "purpose",
    "candidate__number",
    "candidate__structure__number",
    "step__kind",
    "spent_device_seconds",
    "spent_tokens",
    "spent_cost_usd",
    "finished_at",
    "environment_key",
)


@dataclass(frozen=True)
class Charged:
    """One charged evaluation of a search."""

    order: int
    speedup: float | None
    """None unless it passed."""
    candidate: str
    """Short id, e.g. `142.3.007c`."""
    structure: int
    is_tuning: bool
    """It changed knobs only; a measurement again of a finalist does not."""
    environment: str
    spent: dict[str, float]
    """By axis, up to and with this one."""


@dataclass(frozen=True)
class Run:
    """A search as a row of charged evaluations."""

    search: int
    seed: int
    charged: list[Charged] = field(default_factory=list)

    @cached_property
    def records(self) -> list[Charged]:
        """Those that were the best so far."""
        found: list[Charged] = []
        for each in self.charged:
            if each.speedup is not None and (not found or each.speedup > (found[-1].speedup or 0.0)):
                found.append(each)
        return found

    def curve(self, axis: str) -> list[tuple[float, float]]:
        """Best so far against an axis."""
        return [(each.spent.get(axis, 0.0), each.speedup or 0.0) for each in self.records]

    def spent(self, axis: str) -> float:
        """What it has spent so far."""
        return self.charged[-1].spent.get(axis, 0.0) if self.charged else 0.0


def runs_of(searches: Sequence[Search]) -> dict[int, Run]:
    """Runs by search id."""
    runs = {search.pk: Run(search.pk, search.seed) for search in searches}
    began = {search.pk: search.started_at or search.created_at for search in searches}
    rows = Evaluation.objects.filter(search__in=list(runs), order__isnull=False).order_by("search", "order")
    for row in rows.values(*COLUMNS):
        runs[row["search"]].charged.append(_charged(row, began[row["search"]]))
    return runs


def _charged(row: dict[str, Any], began: datetime) -> Charged:
    key = f"{row['search']}.{row['candidate__structure__number']}.{row['candidate__number']:03d}"
    finished: datetime | None = row["finished_at"]
    return Charged(
        order=row["order"],
        speedup=row["speedup"] if row["status"] == EvaluationStatus.PASSED else None,
        candidate=key + PURPOSE_SUFFIX[row["purpose"]],
        structure=row["candidate__structure__number"],
        is_tuning=row["step__kind"] == "variant" and row["purpose"] == Purpose.SEARCH,
        environment=row["environment_key"],
        spent={
            EVALUATIONS: float(row["order"]),
            "device": row["spent_device_seconds"] or 0.0,
            "tokens": float(row["spent_tokens"] or 0),
            "cost": row["spent_cost_usd"] or 0.0,
            "wall": max(0.0, (finished - began).total_seconds()) if finished else 0.0,
        },
    )


def offered(searches: Sequence[Search]) -> list[Axis]:
    """Axes on which something was spent; what no search has is not offered."""
    spent = {
        "tokens": any(search.tokens_spent for search in searches),
        "cost": any(search.cost_usd_spent for search in searches),
    }
    return [axis for axis in AXES.values() if spent.get(axis.name, True)]
