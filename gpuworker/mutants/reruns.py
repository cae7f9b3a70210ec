"""Mutants that need the reference again: given other inputs, or made to compute with less precision."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from gpuworker import layout, yardstick
from gpuworker.clock import plain_pass
from gpuworker.contender import ORACLE, Contender
from gpuworker.mutants import rounding
from gpuworker.specimen import reference_program
from gpuworker.verdicts import RejectedError
from search.workload import ITEM_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gpuworker.court import Court
    from gpuworker.mutants.scene import Scene
    from search.workload import Workload

    Replace = Callable[[Scene], list[torch.Tensor]]


@dataclass(frozen=True)
class Rerun:
    """A reference with text behind it, and what it gets instead of a specimen's inputs."""

    name: str
    group: str
    behind: str
    inputs: Replace


def reruns(workload: Workload) -> Iterator[Rerun]:
    """All of them, those of one program together."""
    for number, name in enumerate(workload.inputs):
        for word, make in _INSTEAD.items():
            yield Rerun(f"input `{name}` ignored: {word}", "inputs", "", _replaced(number, make))
    tensors = [*workload.inputs.values(), *workload.outputs.values()]
    floats = [tensor.dtype for tensor in tensors if tensor.dtype.is_float and tensor.shape is not None]
    if floats:
        declared = max(floats, key=lambda dtype: ITEM_BYTES[dtype])
        for name, behind in rounding.lowered(declared, tf32=workload.policy.tf32).items():
            yield Rerun(name, "precision", behind, lambda scene: scene.specimen.inputs)


def _replaced(number: int, make: Callable[[Scene, int], torch.Tensor]) -> Replace:
    def inputs(scene: Scene) -> list[torch.Tensor]:
        values = list(scene.specimen.inputs)
        values[number] = make(scene, number)
        return values

    return inputs


_INSTEAD: dict[str, Callable[[Scene, int], torch.Tensor]] = {
    "zeros": lambda scene, number: torch.zeros_like(scene.specimen.inputs[number]),
    "ones": lambda scene, number: torch.ones_like(scene.specimen.inputs[number]),
    "another seed's values": lambda scene, number: scene.other.inputs[number],
}


class Repeater:
    """Runs the reference in float64 in one cell at a time; outputs come back in the declared types."""

    def __init__(self, workload: Workload, court: Court) -> None:
        """Nothing runs yet."""
        self._workload = workload
        self._court = court
        self._behind = ""
        self._contender: Contender | None = None

    def outputs(self, rerun: Rerun, scene: Scene) -> list[torch.Tensor]:
        """What this mutant leaves for a specimen; views that hold until the next call.

        Raises:
            RejectedError: the reference fails on it.
        """
        contender = self._started(rerun.behind)
        slot = contender.layout.of_case(scene.specimen.case)[0]
        given = dataclasses.replace(scene.specimen, inputs=rerun.inputs(scene))
        try:
            plain_pass(contender, [slot], [given], yardstick.own_patience())
        except RejectedError:
            self.close()
            raise
        return contender.arena.outputs(slot)

    def close(self) -> None:
        """End the cell."""
        if self._contender is not None:
            self._contender.close()
            self._contender = None

    def _started(self, behind: str) -> Contender:
        if self._contender is not None and behind == self._behind:
            return self._contender
        self.close()
        workload = self._workload.model_copy(update={"reference": self._workload.reference + behind})
        device = self._court.device
        plan = layout.plan(workload, {case.name: 1 for case in workload.cases})
        self._contender = Contender(self._court.block, device, plan, ORACLE)
        self._behind = behind
        threads = len(device.contender_cores)
        program = reference_program(workload, golden=True, threads=threads, device=device.index)
        self._contender.load(program, (), yardstick.own_patience())
        return self._contender
