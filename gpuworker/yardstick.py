"""What every candidate of one workload is held against: specimens with golden outputs, and the running baseline.

Specimens serve several candidates, since a cell leaves nothing behind for the next. They are thrown away after a
while all the same, so that what a candidate's log or message may tell of them is soon worth nothing.
"""

from __future__ import annotations

import math
import random
import statistics
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gpuworker import layout
from gpuworker.clock import checked_pass, plain_pass
from gpuworker.compare import Expected, is_right
from gpuworker.contender import BASELINE, Contender, Patience
from gpuworker.inputs import Flavour
from gpuworker.replayer import Replayer
from gpuworker.specimen import Oracle, Specimen, blaming_reference, reference_program

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuworker.cells import CellBlock
    from gpuworker.devices.device import Device, DeviceBudget
    from search.workload import Case, Workload

WEAR = 120
"""One set of specimens serves so many replayed candidates, or a third of that whose host code meets the values."""
_FASTEST = 4
"""Candidates up to so many times faster than the baseline still get passes of that length."""
_REFERENCE_S = 120.0
"""A reference may take so long for all its specimens, and for one pass."""
_SLOW_S = 10e-3
_LEAST_CALLS = 3
"""Fresh specimens that a pair uses up at least: two calls and one."""
_SEEDS = 3
_LEGAL_SHARE = 0.25
_SMALL_ELEMENTS = 1 << 17
_CHECKED_SHARE = 4
"""Slots of a case that is only checked may take so many times what those of a timed case do."""


@dataclass
class Yardstick:
    """One workload on this device."""

    workload: Workload
    budget: DeviceBudget
    baseline: Contender
    empty_pass_s: float
    checks: dict[str, list[Specimen]]
    """By case: at least three, each of another secret seed, the declared distribution first."""
    baseline_s: dict[str, float]
    """Rough seconds of one call of the baseline, by timed case."""
    warm_s: dict[str, float] = field(default_factory=dict)
    """The same, measured warm, of the cases that were timed."""
    timed: dict[str, list[Specimen]] = field(default_factory=dict)
    """By timed case: for timed passes, each handed to one candidate at most once."""
    wear: int = 0

    @property
    def worn(self) -> bool:
        """Time for fresh specimens."""
        return self.wear >= WEAR

    def shuffled(self, case: str) -> list[Specimen]:
        """The timed specimens of a case in a new secret order."""
        specimens = list(self.timed[case])
        random.SystemRandom().shuffle(specimens)
        return specimens

    def close(self) -> None:
        """End the baseline."""
        self.baseline.close()


def slot_counts(
    workload: Workload,
    budget: DeviceBudget,
    timed: Sequence[str],
    *,
    hidden: bool | None = None,
    checked: int = 1,
) -> dict[str, int]:
    """Slots per case: one or a few to check with, many where passes are timed.

    Args:
        workload: gives the cases.
        budget: how much memory they may take.
        timed: names of the cases that will be timed.
        hidden: only those that are, or are not; None for all.
        checked: slots to check with, where they are small enough.
    """
    return {
        case.name: _slots(layout.slot_bytes(workload, case), budget, checked, timed=case.name in timed)
        for case in workload.cases
        if hidden is None or case.hidden is hidden
    }


def _slots(slot_bytes: int, budget: DeviceBudget, checked: int, *, timed: bool) -> int:
    few = max(1, min(checked, _CHECKED_SHARE * budget.slot_bytes // max(slot_bytes, 1)))
    return max(few, _timed_slots(slot_bytes, budget)) if timed else few


def _timed_slots(slot_bytes: int, budget: DeviceBudget) -> int:
    wanted = math.ceil(budget.slot_bytes / max(slot_bytes, 1))
    return max(budget.least_slots, min(budget.most_slots, wanted))


def own_patience() -> Patience:
    """For work that is no candidate's."""
    return Patience(time.monotonic() + _REFERENCE_S, _REFERENCE_S)


def build(workload: Workload, block: CellBlock, device: Device, patience: Patience) -> Yardstick:
    """Golden outputs and baseline of a workload; timed specimens come with `provide`.

    Raises:
        RejectedError: INVALID_REFERENCE.
    """
    timed = [case.name for case in workload.cases if case.timed]
    with Oracle(workload, block, device, patience, workload.cases) as oracle:
        drawn = {case.name: list(oracle.make(case, _flavours(case))) for case in workload.cases}
    threads = len(device.contender_cores)
    kind = Contender if device.index < 0 else Replayer
    baseline = kind(
        block, device, layout.plan(workload, slot_counts(workload, device.budget, timed)), BASELINE
    )
    with blaming_reference():
        baseline.load(
            reference_program(workload, golden=False, threads=threads, device=device.index), (), patience
        )
        checks = {name: _legal(baseline, specimens, patience) for name, specimens in drawn.items()}
        rough = {c.name: _rough_s(baseline, checks[c.name], patience) for c in workload.cases if c.timed}
        empty_s = _empty_pass_s(baseline, patience)
    return Yardstick(workload, device.budget, baseline, empty_s, checks, rough)


def provide(
    stick: Yardstick, case: Case, block: CellBlock, device: Device, patience: Patience, share: float = 1.0
) -> None:
    """Make the specimens that timed passes of a case use up, in so large a share of the room for one case.

    Raises:
        torch.OutOfMemoryError: the device has no room for them.
    """
    if case.name in stick.timed:
        return
    pairs, room = device.budget.pairs, share * device.budget.specimen_bytes
    made: list[Specimen] = []
    with Oracle(stick.workload, block, device, patience, [case]) as oracle:
        count = math.ceil(pairs * 1.5 * most_calls(stick, case.name))
        for specimen in oracle.make(case, [Flavour.DECLARED] * count):
            made.append(specimen)
            room -= specimen.kept_bytes
            if room < 0 and len(made) >= _LEAST_CALLS * pairs:
                break
    stick.timed[case.name] = made


def most_calls(stick: Yardstick, case: str) -> int:
    """Calls in the longest pass that is worth making; even."""
    wanted = calls_for(stick.baseline_s[case] / _FASTEST, stick.budget.pass_s)
    return min(wanted, len(stick.baseline.layout.of_case(case)) // 2 * 2)


def calls_for(per_call_s: float, pass_s: float) -> int:
    """Calls in a whole pass, even: four at least, so that a slope spans two, unless calls are slow."""
    calls = math.ceil(pass_s / per_call_s)
    return max(4 if per_call_s < _SLOW_S else 2, calls + calls % 2)


def _flavours(case: Case) -> list[Flavour]:
    """Declared values of three seeds, and hard flavours: all where rows are short, two where they are long.

    Zeros and tiny values make long rows of equal terms, where a plain float32 sum drifts by more than the
    tolerance of a workload; that is arithmetic, not a mistake.
    """
    hard = [flavour for flavour in Flavour if flavour is not Flavour.DECLARED]
    if math.prod(case.axes.values()) > _SMALL_ELEMENTS:
        hard = [random.SystemRandom().choice([Flavour.HEAVY_TAIL, Flavour.LARGE]), Flavour.MASKED]
    return [Flavour.DECLARED] * _SEEDS + hard


def _legal(baseline: Contender, specimens: list[Specimen], patience: Patience) -> list[Specimen]:
    """Specimens of declared values, which the reference must get right in its own types, and the legal hard ones.

    A flavour that the reference itself computes badly (-inf in a matrix product, differences of large numbers) says
    nothing about a candidate, so it must do with a quarter of the allowed errors; and where it makes NaN or infinity of
    an output that is finite for declared values, a kernel may make something else of it.
    """
    slot = baseline.layout.of_case(specimens[0].case)[0]
    kept = []
    declared = [one for one in specimens if one.flavour is Flavour.DECLARED]
    masked = [any(_has_masks(expected) for expected in place) for place in _by_output(declared)]
    for specimen in specimens:
        if specimen.flavour is Flavour.DECLARED:
            checked_pass(baseline, [slot], [specimen], patience)
            kept.append(specimen)
        elif all(
            one.finite or (may and _has_masks(one))
            for one, may in zip(specimen.expected, masked, strict=True)
        ):
            plain_pass(baseline, [slot], [specimen], patience)
            outputs = zip(baseline.arena.outputs(slot), specimen.expected, strict=True)
            if all(is_right(output, expected, _LEGAL_SHARE) for output, expected in outputs):
                kept.append(specimen)
    return kept


def _by_output(specimens: Sequence[Specimen]) -> list[tuple[Expected, ...]]:
    return list(zip(*[one.expected for one in specimens], strict=True))


def _has_masks(expected: Expected) -> bool:
    """Whether -inf is all that is not finite in it, as where nothing was to be summed."""
    value = expected.value
    return not expected.finite and bool((value.isfinite() | value.isneginf()).all())


def _empty_pass_s(baseline: Contender, patience: Patience) -> float:
    """What a pass without calls takes by the judge's clock."""
    waited = []
    for _ in range(15):
        baseline.run((), patience)
        waited.append(baseline.waited_s)
    return statistics.median(waited)


def _rough_s(baseline: Contender, specimens: list[Specimen], patience: Patience) -> float:
    slot = baseline.layout.of_case(specimens[0].case)[0]
    seconds = [checked_pass(baseline, [slot], specimens[:1], patience) for _ in range(4)]
    return min(seconds[1:])
