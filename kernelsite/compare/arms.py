"""A comparison arm by arm: curves, budgets, results at shares of the matched budget, fairness."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from kernelsite.compare.statistics import FRACTIONS, Pairing, Spread, best_at, middle_band, pair, spread
from kernelsite.compare.summary import ArmSummary, arm_summary
from kernelsite.searches.models import Evaluation, Search
from search.records import EvaluationStatus
from search.strategies import STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelsite.compare.models import Comparison


@dataclass(frozen=True)
class Point:
    """A record of one search."""

    order: int
    speedup: float
    candidate: str
    device_seconds: float | None


@dataclass(frozen=True)
class Arm:
    """One strategy with its searches, one per seed."""

    strategy: str
    index: int
    """Place among the arms; gives the colour."""
    searches: tuple[Search, ...]
    points: dict[int, list[Point]] = field(default_factory=dict)
    """Records by search id."""

    @property
    def title(self) -> str:
        """One line for people."""
        strategy = STRATEGIES.get(self.strategy)
        return strategy.title if strategy else self.strategy

    @cached_property
    def summary(self) -> ArmSummary:
        """Spendings and the best."""
        return arm_summary(list(self.searches))

    @property
    def cap(self) -> int:
        """Evaluations of one seed."""
        return self.searches[0].evaluations_cap

    @property
    def cap_total(self) -> int:
        """Evaluations of all seeds."""
        return sum(search.evaluations_cap for search in self.searches)

    @property
    def reach(self) -> int:
        """Evaluations that every seed has got to; one that has ended stays at its best."""
        return min(
            search.evaluations_cap if search.is_final else search.evaluations_spent
            for search in self.searches
        )

    @property
    def is_over(self) -> bool:
        """Every seed has ended."""
        return all(search.is_final for search in self.searches)

    @property
    def curves(self) -> list[list[tuple[int, float]]]:
        """Best so far, seed by seed."""
        return [
            [(point.order, point.speedup) for point in self.points.get(search.pk, [])]
            for search in self.searches
        ]

    @property
    def at_fractions(self) -> list[Spread | None]:
        """Best at 25, 50 and 100 % of the budget over seeds; None until every seed has spent that much."""
        return [self._at(fraction) for fraction in FRACTIONS]

    def _at(self, fraction: float) -> Spread | None:
        reached = all(
            search.is_final or search.evaluations_spent >= fraction * search.evaluations_cap
            for search in self.searches
        )
        return spread([best_at(curve, fraction * self.cap) for curve in self.curves]) if reached else None

    @property
    def finals(self) -> dict[int, float]:
        """Best of every ended seed."""
        return {
            search.seed: search.best_speedup
            for search in self.searches
            if search.is_final and search.best_speedup
        }


def arms_of(comparison: Comparison) -> list[Arm]:
    """Arms in the order of the request, with their curves, in two queries."""
    searches = list(comparison.searches.select_related("workload", "library").order_by("id"))
    records = _records(searches)
    names = list(dict.fromkeys(search.strategy for search in searches))
    return [
        Arm(
            name,
            index,
            own := tuple(search for search in searches if search.strategy == name),
            {search.pk: records.get(search.pk, []) for search in own},
        )
        for index, name in enumerate(names)
    ]


def _records(searches: Sequence[Search]) -> dict[int, list[Point]]:
    rows = (
        Evaluation.objects.filter(search__in=searches, order__isnull=False, status=EvaluationStatus.PASSED)
        .select_related("candidate__structure")
        .defer("result")
        .order_by("search", "order")
    )
    found: dict[int, list[Point]] = {}
    for row in rows:
        points = found.setdefault(row.search_id, [])
        if (
            row.speedup is not None
            and row.order is not None
            and (not points or row.speedup > points[-1].speedup)
        ):
            points.append(Point(row.order, row.speedup, row.key, row.spent_device_seconds))
    return found


def pairings(arms: Sequence[Arm]) -> list[tuple[Arm, Pairing]]:
    """The first arm against every other."""
    return [(other, pair(arms[0].finals, other.finals)) for other in arms[1:]] if arms else []


@dataclass(frozen=True)
class FairnessRow:
    """One thing that must be equal for the arms to be comparable."""

    name: str
    is_equal: bool
    values: tuple[str, ...]


def fairness(arms: Sequence[Arm]) -> list[FairnessRow]:
    """What was held equal, and whether it was."""
    searches = [search for arm in arms for search in arm.searches]
    seeds = {tuple(sorted(search.seed for search in arm.searches)) for arm in arms}
    keys = Evaluation.objects.filter(search__in=searches, counted=True, order__isnull=False)
    rows = {
        "budget in evaluations": {str(search.evaluations_cap) for search in searches},
        "seeds": {" ".join(map(str, each)) for each in seeds},
        "workload version": {f"{search.workload.slug} v{search.workload.version}" for search in searches},
        "action library": {f"{search.library.slug} v{search.library.version}" for search in searches},
        "agent": {search.agent for search in searches},
        "device class": {search.device_class for search in searches},
        "stage settings": {_words(search.settings["stages"]) for search in searches},
        "measuring environment": {
            key[:12] for key in keys.order_by().values_list("environment_key", flat=True).distinct()
        },
    }
    return [FairnessRow(name, len(values) <= 1, tuple(sorted(values))) for name, values in rows.items()]


def _words(settings: dict[str, object]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in settings.items())


def curves(arms: Sequence[Arm]) -> dict[str, object]:
    """What the chart draws; JSON-ready."""
    timed = [search for arm in arms for search in arm.searches if search.best_baseline]
    return {
        "baseline": timed[0].best_baseline if timed else "",
        "over": all(arm.is_over for arm in arms),
        "version": sum(search.event_seq for arm in arms for search in arm.searches),
        "cap": max((arm.cap for arm in arms), default=0),
        "arms": [_arm_row(arm) for arm in arms],
    }


def _arm_row(arm: Arm) -> dict[str, object]:
    return {
        "strategy": arm.strategy,
        "index": arm.index,
        "band": middle_band(arm.curves, arm.reach),
        "seeds": [
            {
                "search": search.pk,
                "seed": search.seed,
                "state": search.state,
                "spent": search.evaluations_spent,
                "spent_device_seconds": search.device_seconds_spent,
                "points": [
                    [point.order, point.speedup, point.candidate, point.device_seconds]
                    for point in arm.points[search.pk]
                ],
            }
            for search in arm.searches
        ],
    }
