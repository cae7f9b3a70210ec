"""Holds every mutant against every specimen, and the honest reference with them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from gpuworker import layout
from gpuworker.clock import plain_pass
from gpuworker.compare import expect_all, is_right
from gpuworker.mutants import outputs
from gpuworker.mutants.record import FEW_MARGIN, MARGIN, MOST_BYTES
from gpuworker.mutants.reruns import Repeater, reruns
from gpuworker.mutants.scene import Scene, scenes
from gpuworker.verdicts import RejectedError
from gpuworker.yardstick import own_patience
from search.validation import Honest, MutantResult, Outcome, SelfTest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpuworker.court import Court
    from gpuworker.yardstick import Yardstick
    from search.workload import Workload

_SCALES = range(-4, 21)
"""Powers of two tried for `tolerance.scale`."""

Leave = Callable[[Scene], "Sequence[torch.Tensor] | None"]


@dataclass(frozen=True)
class _Mutant:
    name: str
    group: str
    leave: Leave
    """What it leaves as outputs; None where the shape has no room for it."""


def examine(workload: Workload, court: Court, most_bytes: int = MOST_BYTES) -> SelfTest:
    """The self-test of one workload.

    Args:
        workload: its cases decide what is looked at, hidden ones too.
        court: gives device, cells and specimens.
        most_bytes: larger cases are left out, and named.

    Raises:
        RejectedError: INVALID_REFERENCE.
        ValueError: no case is small enough.
    """
    small = tuple(case for case in workload.cases if layout.slot_bytes(workload, case) <= most_bytes)
    if not small:
        raise ValueError(f"{workload.name}: every case is larger than {most_bytes} bytes")
    kept = workload.model_copy(update={"cases": small})
    stick = court.yardstick(kept, [])
    found = scenes(stick)
    repeater = Repeater(kept, court)
    try:
        mutants = tuple(_try(mutant, found) for mutant in _mutants(kept, repeater))
    finally:
        repeater.close()
    honest = [(scene, _eager(stick, scene)) for scene in found]
    return SelfTest(
        workload=workload.name,
        hash=workload.hash,
        device=court.device.facts.model,
        cases=tuple(case.name for case in small),
        left_out=tuple(case.name for case in workload.cases if case not in small),
        specimens=len(found),
        honest=_honest([run for run in honest if not run[0].few]),
        honest_few=_honest([run for run in honest if run[0].few]),
        scale=workload.tolerance.scale,
        least_scale=_least_scale(kept, honest),
        mutants=mutants,
    )


# Mutants ------------------------------------------------------------------------------------------


def _mutants(workload: Workload, repeater: Repeater) -> Iterator[_Mutant]:
    names = list(workload.outputs)
    for group, kinds in (("values", outputs.VALUES), ("places", outputs.PLACES)):
        for kind, spoil in kinds.items():
            for number, name in enumerate(names):
                suffix = f" (`{name}`)" if len(names) > 1 else ""
                yield _Mutant(kind + suffix, group, _spoiled(spoil, number))
    for number, name in enumerate(names):
        for given, tensor in enumerate(workload.inputs):
            if _fits(workload, tensor, name):
                yield _Mutant(
                    f"input `{tensor}` passed through as `{name}`", "inputs", _passed(given, number)
                )
    for case in workload.cases:
        yield _Mutant(f"wrong in case `{case.name}` alone", "cases", _off_in(case.name))
    for rerun in reruns(workload):
        yield _Mutant(rerun.name, rerun.group, functools.partial(repeater.outputs, rerun))


def _with(scene: Scene, number: int, spoiled: torch.Tensor | None) -> list[torch.Tensor] | None:
    if spoiled is None:
        return None
    return [spoiled if index == number else golden for index, golden in enumerate(scene.golden)]


def _spoiled(spoil: outputs.Spoil, number: int) -> Leave:
    return lambda scene: _with(scene, number, spoil(scene.golden[number], scene.other_golden[number]))


def _fits(workload: Workload, given: str, output: str) -> bool:
    """Whether an input has as many elements as an output, in any case."""
    for case in workload.cases:
        sizes = workload.sizes(case)
        shapes = [workload.shape(one, sizes) for one in (workload.inputs[given], workload.outputs[output])]
        if math.prod(shapes[0]) == math.prod(shapes[1]) and shapes[1]:
            return True
    return False


def _passed(given: int, number: int) -> Leave:
    def leave(scene: Scene) -> list[torch.Tensor] | None:
        value, golden = scene.specimen.inputs[given], scene.golden[number]
        if value.numel() != golden.numel() or not golden.ndim:
            return None
        return _with(scene, number, value.to(golden).reshape(golden.shape))

    return leave


def _off_in(case: str) -> Leave:
    """Floats twice as large, other types off by one: what a kernel does that knows the other cases."""

    def leave(scene: Scene) -> list[torch.Tensor] | None:
        if scene.specimen.case != case:
            return None
        return [_off(golden) for golden in scene.golden]

    return leave


def _off(golden: torch.Tensor) -> torch.Tensor:
    if golden.is_floating_point():
        return golden * 2
    return golden.logical_not() if golden.dtype is torch.bool else golden + 1


@dataclass(frozen=True)
class _Worst:
    """The specimen in which a mutant errs most."""

    scene: Scene
    error: float | None


def _try(mutant: _Mutant, found: list[Scene]) -> MutantResult:
    """A mutant is dead when one specimen rejects it; how many do, and by how much, tells how easily."""
    verdicts: list[bool] = []
    worst: _Worst | None = None
    note = ""
    for scene in found:
        try:
            left = mutant.leave(scene)
        except RejectedError as error:
            note = f"the reference {error.message}"
            break
        if left is None or not scene.differs(left):
            continue
        verdicts.append(scene.accepts(left))
        worst = _worse(worst, scene, left)
    return _result(mutant, verdicts, worst, note)


def _worse(worst: _Worst | None, scene: Scene, left: Sequence[torch.Tensor]) -> _Worst:
    """Measures an error only where it is the largest yet: one comparison tells, a measurement takes a dozen."""
    if worst and (worst.error is None or scene.accepts(left, worst.error)):
        return worst
    return _Worst(scene, scene.error(left))


def _result(mutant: _Mutant, verdicts: list[bool], worst: _Worst | None, note: str) -> MutantResult:
    if worst is None:
        outcome = Outcome.REFUSED if note else Outcome.NO_EFFECT
        return MutantResult(name=mutant.name, group=mutant.group, outcome=outcome, note=note)
    return MutantResult(
        name=mutant.name,
        group=mutant.group,
        outcome=Outcome.SURVIVED if all(verdicts) else Outcome.KILLED,
        specimens=len(verdicts),
        rejections=verdicts.count(False),
        case=worst.scene.specimen.case,
        values=str(worst.scene.specimen.flavour),
        error=worst.error,
        note=note,
    )


# The honest reference -----------------------------------------------------------------------------


def _eager(stick: Yardstick, scene: Scene) -> list[torch.Tensor]:
    slot = stick.baseline.layout.of_case(scene.specimen.case)[0]
    plain_pass(stick.baseline, [slot], [scene.specimen], own_patience())
    return [output.clone() for output in stick.baseline.arena.outputs(slot)]


def _honest(runs: list[tuple[Scene, list[torch.Tensor]]]) -> Honest | None:
    if not runs:
        return None
    errors = [(scene.error(left), scene.specimen) for scene, left in runs]
    error, specimen = max(errors, key=lambda pair: math.inf if pair[0] is None else pair[0])
    return Honest(case=specimen.case, values=str(specimen.flavour), error=error)


def _least_scale(workload: Workload, runs: list[tuple[Scene, list[torch.Tensor]]]) -> float | None:
    for exponent in _SCALES:
        tolerance = workload.tolerance.model_copy(update={"scale": 2.0**exponent})
        changed = workload.model_copy(update={"tolerance": tolerance})
        if all(_keeps_margin(changed, scene, left) for scene, left in runs):
            return 2.0**exponent
    return None


def _keeps_margin(workload: Workload, scene: Scene, left: list[torch.Tensor]) -> bool:
    case = next(case for case in workload.cases if case.name == scene.specimen.case)
    golden = [value.double() if value.is_floating_point() else value for value in scene.precise()]
    bounds = expect_all(workload, case, scene.specimen.inputs, golden)
    share = 1 / (FEW_MARGIN if scene.few else MARGIN)
    return all(is_right(one, bound, share) for one, bound in zip(left, bounds, strict=True))
