"""What several seeds of several strategies allow to be said. Pure functions; rules in the documentation, "Statistics".

"Better" needs at least six paired seeds and an interval that excludes equality; three to five seeds show
intervals only; fewer show curves only.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

INTERVAL_SEEDS = 3
VERDICT_SEEDS = 6
RESAMPLES = 2000
FRACTIONS = (0.25, 0.5, 1.0)

Curve = Sequence[tuple[int, float]]
"""(charged evaluations, best speed-up so far), rising in both."""


def best_at(curve: Curve, evaluations: float) -> float | None:
    """Best speed-up after so many evaluations; None when nothing had passed yet."""
    values = [speedup for order, speedup in curve if order <= evaluations]
    return values[-1] if values else None


@dataclass(frozen=True)
class Spread:
    """Values of several seeds."""

    seeds: int
    median: float
    low: float
    high: float
    """Lowest and highest seed."""


def spread(values: Sequence[float | None]) -> Spread | None:
    """Median and range over seeds; None unless every seed has a value."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    return Spread(len(known), median(known), min(known), max(known))


@dataclass(frozen=True)
class Pairing:
    """One arm against another over the seeds that both have finished."""

    seeds: int
    ratio: float | None = None
    """Geometric mean of the speed-up ratio; above 1 the first arm is faster."""
    low: float | None = None
    high: float | None = None

    @property
    def verdict(self) -> str:
        """In words, and never more than the seeds carry."""
        if self.seeds < INTERVAL_SEEDS or self.low is None or self.high is None:
            return "not enough seeds"
        if self.seeds < VERDICT_SEEDS:
            return "interval only"
        if self.low > 1:
            return "better"
        return "worse" if self.high < 1 else "not told apart"


def pair(one: Mapping[int, float], other: Mapping[int, float]) -> Pairing:
    """Compare two arms by seed; bootstrap over seeds, percentile interval, fixed random numbers."""
    seeds = sorted(one.keys() & other.keys())
    logs = [math.log(one[seed] / other[seed]) for seed in seeds]
    if len(logs) < INTERVAL_SEEDS:
        return Pairing(len(logs))
    source = random.Random(0)
    means = sorted(sum(source.choices(logs, k=len(logs))) / len(logs) for _ in range(RESAMPLES))
    low, high = means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES) - 1]
    centre = sum(logs) / len(logs)
    return Pairing(len(logs), math.exp(centre), math.exp(min(low, centre)), math.exp(max(high, centre)))


def middle_band(curves: Sequence[Curve], reach: int) -> list[tuple[int, float, float, float]]:
    """Quartiles over seeds at every evaluation where some curve moves: (order, median, lower, upper).

    Only where every seed has a result, up to `reach`, which every seed has got to, and only with three seeds or more.
    """
    if len(curves) < INTERVAL_SEEDS:
        return []
    orders = sorted({order for curve in curves for order, _ in curve if order <= reach} | {reach})
    band = []
    for order in orders:
        values = [best_at(curve, order) for curve in curves]
        known = sorted(value for value in values if value is not None)
        if len(known) == len(curves):
            band.append((order, median(known), _quantile(known, 0.25), _quantile(known, 0.75)))
    return band


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
