"""Statistics of searches and of measurements, over numpy.

Speed-ups are ratios: they are averaged and resampled as logarithms. Every random draw comes from a seed
given by the caller, so a page shows the same interval twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from search.records import Interval

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = npt.NDArray[np.float64]

RESAMPLES = 2000
MIN_SEEDS = 6
"""Paired seeds below which nothing is called better."""


def best_so_far(speedups: Sequence[float | None]) -> Array:
    """Running maximum of speed-up after each evaluation; 0 until the first pass.

    Args:
        speedups: one per charged evaluation in order; None for a failure.
    """
    values = np.array([0.0 if value is None else value for value in speedups], dtype=np.float64)
    return np.maximum.accumulate(values) if values.size else values


def area_under_best(spent: Sequence[float], speedups: Sequence[float | None], cap: float) -> float:
    """Mean of best-so-far over the budget axis from 0 to `cap`: a step function, 0 before the first pass.

    Args:
        spent: cumulative spending (evaluations, seconds, tokens, …) after each evaluation, non-decreasing.
        speedups: as for `best_so_far`.
        cap: end of the axis, above 0; spending beyond it does not count.
    """
    best = np.concatenate([[0.0], best_so_far(speedups)])
    edges = np.clip(np.concatenate([[0.0], np.asarray(spent, dtype=np.float64), [cap]]), 0.0, cap)
    return float(np.sum(best * np.diff(edges)) / cap)


def geometric_mean(values: Sequence[float]) -> float:
    """exp of the mean log; show the worst value beside it.

    Raises:
        ValueError: no values, or one that is not above 0.
    """
    array = np.asarray(values, dtype=np.float64)
    if not array.size or np.any(array <= 0):
        raise ValueError("a geometric mean needs values above 0")
    return float(np.exp(np.mean(np.log(array))))


def median_ratio(numerator: Sequence[float], denominator: Sequence[float], *, seed: int) -> Interval:
    """Ratio of medians with its 95 % interval, by percentile bootstrap of pairs.

    Pairs are resampled together, so what disturbs both samples of a pair cancels (Efron and Tibshirani,
    An Introduction to the Bootstrap, chapter 13). The interval is widened to hold the point estimate.

    Args:
        numerator: e.g. times of the baseline in µs.
        denominator: times of the candidate, taken in turn with the baseline's.
        seed: of the resampling.

    Raises:
        ValueError: no pairs, different lengths, or a value that is not above 0.
    """
    top, bottom = _positive(numerator), _positive(denominator)
    if top.shape != bottom.shape:
        raise ValueError("paired samples have one length")
    value = float(np.median(top) / np.median(bottom))
    picks = _resamples(top.size, seed)
    ratios = np.median(top[picks], axis=1) / np.median(bottom[picks], axis=1)
    return _interval(value, ratios)


def geometric_mean_interval(values: Sequence[float], *, seed: int) -> Interval:
    """Geometric mean with its 95 % interval over the values, by percentile bootstrap."""
    logs = np.log(_positive(values))
    means = np.exp(np.mean(logs[_resamples(logs.size, seed)], axis=1))
    return _interval(float(np.exp(np.mean(logs))), means)


def probability_better(ours: Sequence[float], theirs: Sequence[float], *, seed: int) -> float:
    """Share of bootstrap resamples of paired seeds in which our geometric mean is above theirs; ties count half.

    Args:
        ours: final speed-up by seed.
        theirs: of the other arm, same seeds in the same order.
        seed: of the resampling.
    """
    logs = _log_ratio(ours, theirs)
    means = np.mean(logs[_resamples(logs.size, seed)], axis=1)
    return float(np.mean(means > 0) + 0.5 * np.mean(means == 0))


def is_better(ours: Sequence[float], theirs: Sequence[float], *, seed: int) -> bool:
    """Whether "better" may be said: enough paired seeds and a 95 % interval of the ratio above 1."""
    if len(ours) < MIN_SEEDS:
        return False
    ratios = np.exp(_log_ratio(ours, theirs))
    return geometric_mean_interval(ratios.tolist(), seed=seed).low > 1.0


def regret_at(
    speedups: Sequence[float | None], best: float, budget: int, shares: Sequence[float] = (0.25, 0.5, 1.0)
) -> tuple[float, ...]:
    """How far best-so-far is below the best known, at shares of the matched budget.

    Args:
        speedups: one per charged evaluation; a search that ended early keeps its last best.
        best: highest speed-up known for the space.
        budget: matched evaluations.
        shares: of the budget.

    Returns:
        1 - best-so-far / best, 1 before the first pass and never below 0.
    """
    curve = best_so_far(speedups)
    counts = [min(curve.size, int(share * budget)) for share in shares]
    reached = [float(curve[count - 1]) if count else 0.0 for count in counts]
    return tuple(max(0.0, 1.0 - value / best) for value in reached)


def evaluations_to(speedups: Sequence[float | None], target: float) -> int | None:
    """Evaluations until best-so-far reaches the target; None when it never does."""
    reached = np.flatnonzero(best_so_far(speedups) >= target)
    return int(reached[0]) + 1 if reached.size else None


def expected_running_time(reached: Sequence[int | None], budget: int) -> float | None:
    """Evaluations to a target when a failed search is started again: all spent / searches that succeeded.

    Auger and Hansen (CEC 2005), as in COCO. None when no search reached it.
    """
    return expected_cost(reached, [budget] * len(reached))


def expected_cost(reached: Sequence[int | None], spent: Sequence[float]) -> float | None:
    """As `expected_running_time`, where each search has spent its own amount, e.g. model calls.

    Args:
        reached: cost until the target by search; None where it was not reached.
        spent: cost of the whole search, in the same order.
    """
    hits = [cost for cost in reached if cost is not None]
    if not hits:
        return None
    wasted = sum(total for cost, total in zip(reached, spent, strict=True) if cost is None)
    return (sum(hits) + wasted) / len(hits)


def expected_cost_interval(
    reached: Sequence[int | None], spent: Sequence[float], *, seed: int
) -> tuple[float, float | None] | None:
    """95 % interval of `expected_cost` by percentile bootstrap of searches.

    Returns:
        Low and high end; high is None where more than 2.5 % of the resamples never reach the target, and the
        whole is None where more than 97.5 % do not.
    """
    hit = np.array([cost is not None for cost in reached])
    cost = np.array([spent[n] if one is None else one for n, one in enumerate(reached)], dtype=np.float64)
    picks = _resamples(cost.size, seed)
    hits = hit[picks].sum(axis=1)
    with np.errstate(divide="ignore"):
        draws = np.sort(np.where(hits > 0, cost[picks].sum(axis=1) / hits, np.inf))
    low, high = (float(draws[int(share * (RESAMPLES - 1))]) for share in (0.025, 0.975))
    if not np.isfinite(low):
        return None
    return low, high if np.isfinite(high) else None


def mean_interval(values: Sequence[float], *, seed: int) -> Interval:
    """Mean with its 95 % interval by percentile bootstrap.

    Raises:
        ValueError: no values, or one that is not finite.
    """
    array = np.asarray(values, dtype=np.float64)
    if not array.size or not np.all(np.isfinite(array)):
        raise ValueError("a mean needs finite values")
    return _interval(float(np.mean(array)), np.mean(array[_resamples(array.size, seed)], axis=1))


def geometric_mean_with_worst(values: Sequence[float]) -> tuple[float, float]:
    """Geometric mean and the lowest value, which it hides.

    Raises:
        ValueError: as for `geometric_mean`.
    """
    return geometric_mean(values), float(min(values))


def rank_correlation(ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """Spearman's rank correlation; None for fewer than three pairs or where one side never varies.

    Raises:
        ValueError: the two have different lengths.
    """
    from scipy.stats import spearmanr

    if len(ours) != len(theirs):
        raise ValueError("a correlation needs pairs")
    if len(ours) < 3 or len(set(ours)) == 1 or len(set(theirs)) == 1:
        return None
    return float(spearmanr(ours, theirs).statistic)


def fast_p(speedups: Sequence[float | None], threshold: float = 1.0) -> float:
    """Share of problems solved correctly and faster than `threshold` times the baseline (KernelBench).

    Args:
        speedups: one per problem; None where nothing was correct.
        threshold: speed-up to be passed.
    """
    if not speedups:
        return 0.0
    return sum(value is not None and value > threshold for value in speedups) / len(speedups)


def floor_score(time_us: float, floor_us: float, baseline_us: float) -> float | None:
    """Share of the way from the baseline to the floor, 1 at the floor; None below the floor.

    A time below the floor means a wrong floor or a wrong time; it is no score. None also where the baseline
    leaves no way to go.
    """
    if time_us < floor_us or baseline_us <= floor_us:
        return None
    return (baseline_us - time_us) / (baseline_us - floor_us)


def _positive(values: Sequence[float]) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if not array.size or not np.all(np.isfinite(array)) or np.any(array <= 0):
        raise ValueError("samples must be finite and above 0, and there must be some")
    return array


def _log_ratio(ours: Sequence[float], theirs: Sequence[float]) -> Array:
    top, bottom = _positive(ours), _positive(theirs)
    if top.shape != bottom.shape:
        raise ValueError("paired seeds have one length")
    return np.log(top) - np.log(bottom)


def _resamples(size: int, seed: int) -> npt.NDArray[np.int64]:
    """(RESAMPLES, size) indices drawn with replacement."""
    return np.random.default_rng(seed).integers(0, size, (RESAMPLES, size))


def _interval(value: float, draws: Array) -> Interval:
    low, high = np.percentile(draws, [2.5, 97.5])
    return Interval(value=value, low=min(value, float(low)), high=max(value, float(high)))
