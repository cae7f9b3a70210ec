"""Figures of a tournament, as `settled.md` (Statistics) defines them."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from search.records import Interval, Record
from search.statistics import (
    expected_cost,
    expected_cost_interval,
    geometric_mean,
    is_better,
    mean_interval,
    probability_better,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from search.bench.tournament import Rules
    from search.bench.trace import Trace
    from search.landscapes.landscape import Landscape

SHARES = (0.25, 0.5, 1.0)
LEAST_REGRET = 0.002
"""Regrets below this are this, where ratios are taken: measurements do not tell them apart."""
CURVE_POINTS = 48
BOOTSTRAP_SEED = 1


class Expected(Record):
    """Expected cost to a target when failed searches are started again."""

    value: float | None
    """None: no search reached it."""
    low: float | None
    high: float | None
    """None: the interval is open above."""


class Entry(Record):
    """One strategy on one landscape."""

    landscape: str
    strategy: str
    seeds: int
    evaluations_to_5: Expected
    evaluations_to_1: Expected
    calls_to_5: Expected
    calls_to_1: Expected
    reached_5: float
    """Share of the seeds within 5 % of the best by the end."""
    regret: tuple[Interval, ...]
    """Mean over seeds at 25, 50 and 100 % of the budget."""
    area: Interval
    """Mean of 1 - regret over the evaluations of the budget."""
    final_regret: Interval
    """Of the program that the search ended with."""
    switches: float
    """Evaluations of another structure than the one before, mean."""
    discarded: float | None
    """Mean share of tuning in structures other than the final one."""
    calls: float
    """Calls of the agent, mean."""
    seconds: float
    """Wall time of one search, mean."""
    curve: tuple[tuple[int, float], ...]
    """Evaluations and mean regret."""


class Duel(Record):
    """One strategy against another over all landscapes."""

    strategy: str
    against: str
    regret_ratio: tuple[float, ...]
    """Geometric mean over landscapes of the ratio of mean regrets, at each share of the budget."""
    calls_ratio: float | None
    """Of expected calls to within 5 %, over landscapes where both reach it; None where there is none."""
    worse_on: tuple[int, ...]
    """Landscapes on which mean regret is higher, at each share."""
    probability_better: dict[str, float]
    """By landscape, of the final program, paired by seed."""
    better_on: int
    """Landscapes on which "better" may be said."""


class Report(Record):
    """Everything that a tournament says."""

    budget: int
    seeds: int
    failure: float
    landscapes: tuple[dict[str, str | int | float], ...]
    entries: tuple[Entry, ...]
    duels: tuple[Duel, ...]
    notes: tuple[str, ...]


def report(landscapes: Sequence[Landscape], rules: Rules, traces: Iterable[Trace]) -> Report:
    """Fold the traces of a tournament."""
    best = {one.name: max(one.truth.values()) for one in landscapes}
    grouped = {
        key: tuple(group)
        for key, group in groupby(traces, key=lambda trace: (trace.landscape, trace.strategy))
    }
    entries = {key: entry(group, best[key[0]], rules.budget, key) for key, group in grouped.items()}
    rivals = [name for name in ("mixed", "optuna_tpe_flat") if name in rules.strategies]
    duels = [
        _duel(one, other, best, grouped, entries)
        for one in rules.strategies
        for other in rivals
        if one != other
    ]
    return Report(
        budget=rules.budget,
        seeds=rules.seeds,
        failure=rules.failure,
        landscapes=tuple(_described(one, best[one.name]) for one in landscapes),
        entries=tuple(entries.values()),
        duels=tuple(duels),
        notes=_notes(rules),
    )


def entry(traces: Sequence[Trace], best: float, budget: int, key: tuple[str, str]) -> Entry:
    """Figures of one strategy on one landscape."""
    regrets = [[regret_after(one, int(share * budget), best) for one in traces] for share in SHARES]
    tuned = [one.discarded for one in traces if one.discarded is not None]
    return Entry(
        landscape=key[0],
        strategy=key[1],
        seeds=len(traces),
        evaluations_to_5=_evaluations_to(traces, 0.95 * best, budget),
        evaluations_to_1=_evaluations_to(traces, 0.99 * best, budget),
        calls_to_5=_calls_to(traces, 0.95 * best),
        calls_to_1=_calls_to(traces, 0.99 * best),
        reached_5=sum(_first(one, 0.95 * best) is not None for one in traces) / len(traces),
        regret=tuple(mean_interval(values, seed=BOOTSTRAP_SEED) for values in regrets),
        area=mean_interval([_area(one, budget, best) for one in traces], seed=BOOTSTRAP_SEED),
        final_regret=mean_interval([max(0.0, 1 - one.final / best) for one in traces], seed=BOOTSTRAP_SEED),
        switches=sum(one.switches for one in traces) / len(traces),
        discarded=sum(tuned) / len(tuned) if tuned else None,
        calls=sum(one.total_calls for one in traces) / len(traces),
        seconds=sum(one.seconds for one in traces) / len(traces),
        curve=_curve(traces, budget, best),
    )


def regret_after(trace: Trace, evaluations: int, best: float) -> float:
    """1 - worth of the incumbent / best; a search that ended early keeps its last incumbent."""
    count = min(evaluations, len(trace.worth))
    return max(0.0, 1.0 - (trace.worth[count - 1] if count else 0.0) / best)


def _first(trace: Trace, target: float) -> int | None:
    """Position of the first evaluation whose incumbent is worth the target."""
    return next((n for n, worth in enumerate(trace.worth) if worth >= target), None)


def _evaluations_to(traces: Sequence[Trace], target: float, budget: int) -> Expected:
    firsts = [_first(one, target) for one in traces]
    reached = [None if first is None else first + 1 for first in firsts]
    return _expected(reached, [float(budget)] * len(traces))


def _calls_to(traces: Sequence[Trace], target: float) -> Expected:
    firsts = [_first(one, target) for one in traces]
    reached = [None if first is None else one.calls[first] for one, first in zip(traces, firsts, strict=True)]
    return _expected(reached, [float(one.total_calls) for one in traces])


def _expected(reached: Sequence[int | None], spent: Sequence[float]) -> Expected:
    interval = expected_cost_interval(reached, spent, seed=BOOTSTRAP_SEED)
    low, high = interval or (None, None)
    return Expected(value=expected_cost(reached, spent), low=low, high=high)


def _area(trace: Trace, budget: int, best: float) -> float:
    return sum(1 - regret_after(trace, count, best) for count in range(1, budget + 1)) / budget


def _curve(traces: Sequence[Trace], budget: int, best: float) -> tuple[tuple[int, float], ...]:
    counts = sorted({max(1, round(budget ** (n / CURVE_POINTS))) for n in range(CURVE_POINTS + 1)})
    return tuple(
        (count, sum(regret_after(one, count, best) for one in traces) / len(traces)) for count in counts
    )


def _duel(
    one: str,
    other: str,
    best: dict[str, float],
    grouped: dict[tuple[str, str], tuple[Trace, ...]],
    entries: dict[tuple[str, str], Entry],
) -> Duel:
    pairs = [(entries[name, one], entries[name, other]) for name in best]
    ratios = [
        [_ratio(ours.regret[n].value, theirs.regret[n].value) for ours, theirs in pairs] for n in range(3)
    ]
    calls = [
        ours.calls_to_5.value / theirs.calls_to_5.value
        for ours, theirs in pairs
        if ours.calls_to_5.value and theirs.calls_to_5.value
    ]
    finals = {
        name: [
            [max(trace.final, LEAST_REGRET * best[name]) for trace in grouped[name, arm]]
            for arm in (one, other)
        ]
        for name in best
    }
    return Duel(
        strategy=one,
        against=other,
        regret_ratio=tuple(geometric_mean(values) for values in ratios),
        calls_ratio=geometric_mean(calls) if calls else None,
        worse_on=tuple(sum(value > 1 for value in values) for values in ratios),
        probability_better={
            name: probability_better(ours, theirs, seed=BOOTSTRAP_SEED)
            for name, (ours, theirs) in finals.items()
        },
        better_on=sum(is_better(ours, theirs, seed=BOOTSTRAP_SEED) for ours, theirs in finals.values()),
    )


def _ratio(ours: float, theirs: float) -> float:
    return max(ours, LEAST_REGRET) / max(theirs, LEAST_REGRET)


def _described(landscape: Landscape, best: float) -> dict[str, str | int | float]:
    return {
        "name": landscape.name,
        "workload": landscape.workload.name,
        "case": landscape.case,
        "label": landscape.label,
        "structures": len(landscape.structures),
        "points": len(landscape.rows),
        "passed": len(landscape.truth),
        "best_speedup": best,
        "baseline": landscape.baseline,
    }


def _notes(rules: Rules) -> tuple[str, ...]:
    return (
        f"A new structure, or another try at one, brings no source with probability {rules.failure} (simulated, "
        "by seed); a failed try costs a model call and no evaluation.",
        "A structure step is one model call plus repairs, a knob step none. random and optuna_tpe_flat are given every "
        "structure already written; each one that they touch is charged its calls on the axis of calls.",
        "Regret is 1 - worth of the incumbent / best, where the incumbent has the highest measured speed-up and its "
        "worth is the median of its recorded repeats.",
        f"In ratios regrets below {LEAST_REGRET} count as {LEAST_REGRET}.",
    )
