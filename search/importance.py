"""Which actions and which knobs matter, from measured points alone.

Values are log speed-ups, so an effect is a factor. A factor's importance is the share of the variance that its own
levels explain, its main effect; the means are taken over the points that were measured, which is exact on full
grids (Hutter, Hoos and Leyton-Brown 2014 estimate the same shares where the grid is not full).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from search.records import Interval, KnobValue, Record
from search.statistics import mean_interval

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


NO_SPREAD = 1e-18
"""Variance of equal values, as floats leave it."""


class KnobImportance(Record):
    """How much of a structure's spread one knob explains."""

    knob: str
    share: float
    """Of the variance of log speed-up, 0 to 1."""
    best: KnobValue
    """Value of highest mean."""
    factor: float
    """Mean speed-up at the best value over mean speed-up at the worst, by geometric means."""


class ActionImportance(Record):
    """What a structure gains when one action is added, over pairs that differ in nothing else."""

    action: str
    pairs: int
    gain: Interval
    """Mean log ratio of the best speed-ups, with over without."""
    wins: float
    """Share of the pairs in which the structure with the action is faster."""


def knob_importance(points: Sequence[tuple[Mapping[str, KnobValue], float]]) -> list[KnobImportance]:
    """Main effects of the knobs of one structure, most important first.

    Args:
        points: knob values and speed-up (above 0) of every point that passed; all name the same knobs.

    Raises:
        ValueError: a speed-up that is not above 0, or points of different knobs.
    """
    if not points:
        return []
    names = list(points[0][0])
    if any(set(values) != set(names) for values, _ in points):
        raise ValueError("all points of a structure name the same knobs")
    if any(speedup <= 0 for _, speedup in points):
        raise ValueError("speed-ups are above 0")
    logs = np.log([speedup for _, speedup in points])
    spread = float(np.var(logs))
    found = [_main_effect(name, [values[name] for values, _ in points], logs, spread) for name in names]
    return sorted(found, key=lambda one: (-one.share, one.knob))


def action_importance(best: Mapping[frozenset[str], float], *, seed: int) -> list[ActionImportance]:
    """Gain of each action over all pairs of measured structures that differ by it alone, greatest first.

    Args:
        best: highest speed-up of each structure by its set of actions.
        seed: of the bootstrap.
    """
    actions: Collection[str] = frozenset().union(*best) if best else frozenset()
    found = []
    for action in sorted(actions):
        gains = [
            math.log(best[taken] / best[taken - {action}])
            for taken in best
            if action in taken and taken - {action} in best
        ]
        if gains:
            wins = sum(gain > 0 for gain in gains) / len(gains)
            gain = mean_interval(gains, seed=seed)
            found.append(ActionImportance(action=action, pairs=len(gains), gain=gain, wins=wins))
    return sorted(found, key=lambda one: (-one.gain.value, one.action))


def _main_effect(
    name: str, values: Sequence[KnobValue], logs: np.ndarray[tuple[int], np.dtype[np.float64]], spread: float
) -> KnobImportance:
    levels = {repr(value): value for value in values}
    keys = np.array([repr(value) for value in values])
    means = {key: float(np.mean(logs[keys == key])) for key in levels}
    counts = {key: int(np.sum(keys == key)) for key in levels}
    overall = float(np.mean(logs))
    explained = sum(counts[key] * (means[key] - overall) ** 2 for key in levels) / len(values)
    top = max(means, key=lambda key: means[key])
    return KnobImportance(
        knob=name,
        share=min(1.0, explained / spread) if spread > NO_SPREAD else 0.0,
        best=levels[top],
        factor=math.exp(means[top] - min(means.values())),
    )
