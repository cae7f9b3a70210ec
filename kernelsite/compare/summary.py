"""Numbers of a comparison, arm by arm, for the JSON line and the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from kernelsite.compare.models import Comparison
    from kernelsite.searches.models import Search


class ArmSummary(TypedDict):
    """One strategy; of several seeds, spendings are summed and the best confirmed seed is shown."""

    evaluations: int
    passed: int
    best_speedup: float | None
    best_us: float | None
    structures: int
    low: float | None
    high: float | None
    confirmed: bool
    searches: list[int]


class ComparisonSummary(TypedDict):
    """The JSON line of `demo` and of the comparison page."""

    comparison: int | None
    arms: dict[str, ArmSummary]
    url: str | None


def summary(comparison: Comparison, base_url: str = "") -> ComparisonSummary:
    """Every arm of a comparison, in the order of its request."""
    arms: dict[str, ArmSummary] = {}
    searches = list(comparison.searches.order_by("id"))
    for strategy in dict.fromkeys(search.strategy for search in searches):
        arms[strategy] = arm_summary([search for search in searches if search.strategy == strategy])
    return {"comparison": comparison.pk, "arms": arms, "url": base_url + comparison.get_absolute_url()}


def arm_summary(searches: list[Search]) -> ArmSummary:
    """Numbers of one arm. A confirmed best goes before any unconfirmed one: single fast times flatter."""
    timed = [search for search in searches if search.best_speedup is not None]
    best = max(timed, key=lambda search: (search.best_confirmed, search.best_speedup or 0.0), default=None)
    return {
        "evaluations": sum(search.evaluations_spent for search in searches),
        "passed": sum(search.passed_count for search in searches),
        "best_speedup": best.best_speedup if best else None,
        "best_us": best.best_median_us if best else None,
        "structures": sum(search.structure_count for search in searches),
        "low": best.best_low if best else None,
        "high": best.best_high if best else None,
        "confirmed": best.best_confirmed if best else False,
        "searches": [search.pk for search in searches],
    }
