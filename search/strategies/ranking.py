"""How structures are judged before they are tuned, and which are kept.

The estimate of a structure is an interval of log speed-up. Its lower end is the lower end of its best
measurement; its upper end adds to the upper end what tuning may still bring: the headroom, the largest
gain over default knobs seen in any structure (at least `EXPECTED_GAIN`), divided by the knob points tried.
Structures whose intervals overlap are not yet told apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from search.blueprint import distance

if TYPE_CHECKING:
    from collections.abc import Iterable

    from search.strategies.strategy import Turn
    from search.structure import Structure

EXPECTED_GAIN = math.log(1.3)
"""Gain of tuning that is expected before any was seen."""
DIVERSITY = 0.3
"""Worth, in log speed-up, of a structure that differs in every decision from those kept already."""

PRIOR_ERROR = 0.3
"""Log speed-up by which a cost model is trusted to err: a structure is passed over only beyond it."""


@dataclass(frozen=True)
class Estimate:
    """Log speed-up of a structure: measured best, and where its best knobs may be."""

    structure: Structure
    value: float
    low: float
    high: float


def estimates(turn: Turn) -> list[Estimate]:
    """Of every structure that works, best first.

    A structure that is correct but was never timed counts as speed-up 1 that may be anything.
    """
    working = [each for each in turn.archive.structures.values() if each.base is not None]
    gain = max([EXPECTED_GAIN, *(_gain(each) for each in working)])
    found = [_estimate(each, gain) for each in working]
    return sorted(found, key=lambda each: (-each.value, each.structure.first))


def contenders(ranked: list[Estimate], keep: int) -> list[Estimate]:
    """Those whose interval overlaps across the line between the `keep` best and the rest."""
    kept, rest = ranked[:keep], ranked[keep:]
    if not rest:
        return []
    least = min(each.low for each in kept)
    # What was never timed must not call the best into question, but is a contender itself.
    most = max((each.high for each in rest if each.high < math.inf), default=-math.inf)
    return [each for each in kept if each.low <= most] + [each for each in rest if each.high >= least]


def is_hopeless(turn: Turn, structure: Structure) -> bool:
    """Whether a cost model says that not even its best program reaches the fastest so far."""
    best = turn.archive.best
    if structure.prior is None or best is None or best.low <= 0:
        return False
    told = [
        each.prior - math.log(each.best.value)
        for each in turn.archive.structures.values()
        if each.prior is not None and each.best
    ]
    # A prior is over the direct structure, a speed-up over the baseline: the most hopeful link between them counts.
    return bool(told) and structure.prior - min(told) + PRIOR_ERROR < math.log(best.low)


def retain(turn: Turn) -> tuple[str, ...]:
    """The best structure, then each time the one of best estimate plus distance to those kept."""
    pool = estimates(turn)
    kept: list[Estimate] = []
    while pool and len(kept) < turn.stages.retain:
        best = max(
            pool, key=lambda each: (each.value + DIVERSITY * _apart(each, kept), -each.structure.first)
        )
        kept.append(best)
        pool.remove(best)
    return tuple(each.structure.fingerprint for each in kept)


def _estimate(structure: Structure, gain: float) -> Estimate:
    if structure.best is None or structure.best.speedup is None:
        return Estimate(structure, 0.0, -math.inf, math.inf)
    measured = structure.best.speedup
    value = math.log(measured.value)
    low = math.log(measured.low) if measured.low > 0 else -math.inf
    headroom = gain / max(1, len(structure.points))
    return Estimate(structure, value, low, math.log(measured.high) + headroom)


def _gain(structure: Structure) -> float:
    """Log gain of the best trial over the structure's first."""
    best, first = structure.best, structure.trials.get(structure.first)
    return math.log(best.value / first.value) if best and first and first.value else 0.0


def _apart(one: Estimate, kept: Iterable[Estimate]) -> float:
    blueprint = one.structure.blueprint
    others = [each.structure.blueprint for each in kept]
    return min((distance(blueprint, other) for other in others if blueprint and other), default=0.0)
