"""What several seeds of several groups allow to be said. Pure functions; rules in the documentation, "Statistics".

"Better" needs at least six paired seeds and an interval that excludes equality; three to five seeds show
intervals only; fewer show curves only. Resampling is that of `search.statistics`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from search.statistics import MIN_SEEDS, fast_p, geometric_mean_interval, probability_better

INTERVAL_SEEDS = 3
VERDICT_SEEDS = MIN_SEEDS
FRACTIONS = (0.25, 0.5, 1.0)
SEED = 0
"""Of the resampling: a page shows the same interval twice."""

Curve = Sequence[tuple[float, float]]
"""(spent, best speed-up so far), rising in both."""


def best_at(curve: Curve, spent: float) -> float | None:
    """Best speed-up after so much was spent; None when nothing had passed yet."""
    values = [speedup for place, speedup in curve if place <= spent]
    return values[-1] if values else None


@dataclass(frozen=True)
class Spread:
    """Values of several seeds."""

    seeds: int
    median: float
    lower: float
    upper: float
    """Quartiles over seeds."""
    low: float | None = None
    high: float | None = None
    """95 % interval of the geometric mean over seeds; None below three."""


def spread(values: Sequence[float | None]) -> Spread | None:
    """Median, quartiles and interval over seeds; None unless every seed has a value."""
    known = sorted(value for value in values if value is not None)
    if not known or len(known) < len(values):
        return None
    quartiles = (_quantile(known, 0.25), _quantile(known, 0.75))
    if len(known) < INTERVAL_SEEDS:
        return Spread(len(known), median(known), *quartiles)
    interval = geometric_mean_interval(known, seed=SEED)
    return Spread(len(known), median(known), *quartiles, interval.low, interval.high)


@dataclass(frozen=True)
class Pairing:
    """One group against another over the seeds that both have."""

    seeds: int
    wins: int = 0
    """Seeds in which the first is faster."""
    ratio: float | None = None
    """Geometric mean of the speed-up ratio; above 1 the first group is faster."""
    low: float | None = None
    high: float | None = None
    p_better: float | None = None
    """Share of bootstrap resamples of seeds in which the first group is faster."""

    @property
    def verdict(self) -> str:
        """In words, and never more than the seeds carry."""
        if self.low is None or self.high is None:
            return "not enough seeds"
        if self.seeds < VERDICT_SEEDS:
            return "interval only"
        if self.low > 1:
            return "better"
        return "worse" if self.high < 1 else "not told apart"


def pair(one: Mapping[int, float], other: Mapping[int, float]) -> Pairing:
    """Compare two groups by seed; bootstrap over seeds, percentile interval, fixed random numbers."""
    seeds = sorted(one.keys() & other.keys())
    ours, theirs = [one[seed] for seed in seeds], [other[seed] for seed in seeds]
    wins = sum(a > b for a, b in zip(ours, theirs, strict=True))
    if len(seeds) < INTERVAL_SEEDS:
        return Pairing(len(seeds), wins)
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    interval = geometric_mean_interval(ratios, seed=SEED)
    chance = probability_better(ours, theirs, seed=SEED)
    return Pairing(len(seeds), wins, interval.value, interval.low, interval.high, chance)


def middle_band(curves: Sequence[Curve], reach: float) -> list[tuple[float, float, float, float]]:
    """Quartiles over seeds wherever some curve moves: (spent, median, lower, upper).

    Only where every seed has a result, up to `reach`, which every seed has got to, and only with three seeds or more.
    """
    if len(curves) < INTERVAL_SEEDS:
        return []
    places = sorted({place for curve in curves for place, _ in curve if place <= reach} | {reach})
    band = []
    for place in places:
        known = sorted(value for curve in curves if (value := best_at(curve, place)) is not None)
        if len(known) == len(curves):
            band.append((place, median(known), _quantile(known, 0.25), _quantile(known, 0.75)))
    return band


def fast_p_steps(speedups: Sequence[float | None]) -> list[tuple[float, float]]:
    """The whole `fast_p` curve as corners (p, share with a speed-up above p), from p = 0 to the highest speed-up."""
    corners = sorted({value for value in speedups if value is not None})
    return [(place, fast_p(speedups, place)) for place in (0.0, *corners)]


def geometric_mean(values: Sequence[float]) -> float:
    """exp of the mean log of values above 0."""
    return math.exp(sum(math.log(value) for value in values) / len(values))


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
