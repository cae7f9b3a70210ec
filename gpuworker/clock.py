"""The judge's slope clock.

A pass visits K slots back to back and is measured from outside, from sending `pass` to receiving `done`. The
slope between passes of K/2 and K is the time of one call; what a pass costs besides its calls cancels out.

A contender knows how long a pass is, so it could dawdle in the short ones and look fast. What a whole pass
takes bounds that: besides its calls it may cost what a pass of the trusted baseline does, and a little slack; all
time beyond is charged to the calls.
"""

from __future__ import annotations

import gc
import secrets
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuworker.comparators.together import are_right
from gpuworker.compare import is_right
from gpuworker.patterns import explain
from gpuworker.verdicts import RejectedError
from search.records import EvaluationStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuworker.contender import Contender, Patience
    from gpuworker.specimen import Specimen

_SLACK_S = 30e-6
_SLACK_SHARE = 0.01
_MOST_BESIDE_S = 200e-6
"""Cold caches and the first call can cost a pass that much on top of an empty one, not more."""
_MISMATCH_SHARE = 0.25
_MISMATCH_S = 0.5e-3
"""Time of a pass, as a share and at least, that no call accounts for and that makes a time unbelievable."""


@dataclass(frozen=True)
class Pair:
    """Seconds of a half pass and of the whole pass beside it."""

    half_s: float
    whole_s: float
    half_calls: int
    whole_calls: int

    @property
    def slope_s(self) -> float:
        """Seconds of one call."""
        return (self.whole_s - self.half_s) / (self.whole_calls - self.half_calls)


def overhead_s(twin: Sequence[Pair], empty_pass_s: float) -> float:
    """What a pass costs besides its calls, by pairs of the baseline measured alongside."""
    whole_s = statistics.median(pair.whole_s for pair in twin)
    beside_s = whole_s - twin[0].whole_calls * statistics.median(pair.slope_s for pair in twin)
    return min(max(beside_s, empty_pass_s), empty_pass_s + _MOST_BESIDE_S)


def charge(pairs: Sequence[Pair], overhead: float) -> float:
    """Seconds to add to each call for time in whole passes that slopes do not show.

    Args:
        pairs: measured pairs of one contender, all of one length.
        overhead: seconds that a pass may cost besides its calls.
    """
    whole_s = statistics.median(pair.whole_s for pair in pairs)
    slope_s = statistics.median(pair.slope_s for pair in pairs)
    return _unexplained_s(whole_s, pairs[0].whole_calls * slope_s, overhead) / pairs[0].whole_calls


def disbelief(pairs: Sequence[Pair], overhead: float) -> str:
    """Why the slope of these pairs cannot be believed, empty where it can.

    Looks at the shortest passes of each kind, because noise only ever adds: a share of even the best whole pass
    is in none of its calls.
    """
    half_s, whole_s = min(pair.half_s for pair in pairs), min(pair.whole_s for pair in pairs)
    best = Pair(half_s, whole_s, pairs[0].half_calls, pairs[0].whole_calls)
    hidden_s = _unexplained_s(whole_s, best.whole_calls * max(best.slope_s, 0.0), overhead)
    if hidden_s < _MISMATCH_S or hidden_s < _MISMATCH_SHARE * whole_s:
        return ""
    return f"{hidden_s / whole_s:.0%} of each long pass is in none of its calls, as if short passes were drawn out"


def _unexplained_s(whole_s: float, calls_s: float, overhead: float) -> float:
    return max(0.0, whole_s - calls_s - overhead - _SLACK_S - _SLACK_SHARE * whole_s)


def plain_pass(
    contender: Contender, slots: Sequence[int], specimens: Sequence[Specimen], patience: Patience
) -> float:
    """Fill the slots and run one pass; seconds of the pass.

    Raises:
        RejectedError: it died, hung, or spoke out of turn.
    """
    contender.arena.fill({slot: one.inputs for slot, one in zip(slots, specimens, strict=True)})
    contender.arena.poison(slots)
    gc.disable()
    try:
        return contender.run(slots, patience)
    finally:
        gc.enable()


def checked_pass(
    contender: Contender, slots: Sequence[int], specimens: Sequence[Specimen], patience: Patience
) -> float:
    """The same, and then every output, guard and input of the pass is checked, and one slot that was left out.

    Raises:
        RejectedError: the first thing that is wrong.
    """
    bystander = _bystander(contender, slots)
    contender.arena.poison(bystander)
    seconds = plain_pass(contender, slots, specimens, patience)
    for slot in bystander:
        if not all(bool(contender.arena.is_poison(output).all()) for output in contender.arena.outputs(slot)):
            raise RejectedError(EvaluationStatus.REWARD_HACK, "wrote the outputs of a call that was not made")
    if contender.may_write_inputs:
        for slot, specimen in zip(slots, specimens, strict=True):
            if not contender.arena.inputs_equal(slot, specimen.inputs):
                message = f"changed its inputs {_where(specimen)}"
                raise RejectedError(EvaluationStatus.INPUT_MUTATED, message)
    if specimens and (name := contender.arena.broken_guard(slots)):
        message = f"wrote beyond the ends of `{name}` {_where(specimens[0])}"
        raise RejectedError(EvaluationStatus.OUT_OF_BOUNDS, message)
    if not are_right(contender.arena, slots, specimens):
        for slot, specimen in zip(slots, specimens, strict=True):
            _check(contender, slot, specimen)
    return seconds


def _bystander(contender: Contender, slots: Sequence[int]) -> list[int]:
    """A slot that the pass does not visit, if there is one: work done for it is work done ahead."""
    cases = {contender.layout.slots[slot].case for slot in slots}
    others = sorted(set(range(len(contender.layout.slots))) - set(slots))
    alike = [slot for slot in others if contender.layout.slots[slot].case in cases]
    return [secrets.choice(alike or others)] if others else []


def _where(specimen: Specimen) -> str:
    return "in a hidden case" if specimen.hidden else f"in case {specimen.case}, values {specimen.flavour}"


def _check(contender: Contender, slot: int, specimen: Specimen) -> None:
    arena = contender.arena
    outputs = arena.outputs(slot)
    regions = contender.layout.slots[slot].outputs
    for output, region, expected in zip(outputs, regions, specimen.expected, strict=True):
        if not is_right(output, expected):
            status, message = explain(region.name, output, expected, arena.is_poison(output))
            if specimen.hidden:
                message = f"`{region.name}` is wrong"  # numbers would tell the shape
            raise RejectedError(status, f"{message} {_where(specimen)}", contender.log())
