"""Inputs that a workload's own source makes: in a cell of their own, from a secret seed, read by the judge as plain bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from gpuworker import layout
from gpuworker.contender import Contender, Role
from gpuworker.inputs import secret_seed
from gpuworker.program import Program
from gpuworker.verdicts import RejectedError
from search.records import EvaluationStatus, SourceFile
from search.workload import CustomInput, DType, ScalarInput, Tensor

if TYPE_CHECKING:
    from gpuworker.cells import CellBlock
    from gpuworker.contender import Patience
    from gpuworker.devices.device import Device
    from search.workload import Case, Workload

_MAKER = Role(4)
_SEED = "_seed"


class CustomInputs:
    """Runs the `custom_inputs_entrypoint` of a workload, where any case needs it."""

    def __init__(self, workload: Workload, block: CellBlock, device: Device) -> None:
        """Start a cell with one slot for each case that has custom inputs."""
        self._workload = workload
        self._turned = _turned(workload)
        self._contender: Contender | None = None
        self._device = device
        if self._turned:
            plan = layout.plan(self._turned, dict.fromkeys(_custom_cases(workload), 1))
            self._contender = Contender(block, device, plan, _MAKER)

    def load(self, patience: Patience) -> None:
        """Hand the cell the workload's source.

        Raises:
            RejectedError: it cannot be loaded.
        """
        if self._contender is None or self._turned is None:
            return
        program = Program(
            adapter="custom_inputs",
            entry_point=self._workload.custom_inputs_entrypoint or "",
            sources=(SourceFile(path="reference.py", content=self._workload.reference),),
            threads=len(self._device.contender_cores),
            device=self._device.index,
            axes=tuple(self._turned.axes),
            input_count=len(self._turned.inputs),
            output_count=len(self._turned.outputs),
        )
        self._contender.load(program, (), patience)

    def make(self, case: Case, patience: Patience) -> dict[str, torch.Tensor]:
        """The custom inputs of a case by name, from a fresh seed; nothing where it has none.

        Raises:
            RejectedError: the source fails, or what it made is no value of its type.
        """
        names = _names(case)
        if self._contender is None or not names:
            return {}
        (slot,) = self._contender.layout.of_case(case.name)
        regions = self._contender.layout.slots[slot].inputs
        values = [torch.tensor(secret_seed())]
        values += [_scalar(case, region.name) for region in regions[1:]]
        self._contender.arena.fill({slot: values})
        self._contender.run([slot], patience)
        made = zip(self._turned_outputs(), self._contender.arena.outputs(slot), strict=True)
        return {name: _sound(name, value) for name, value in made if name in names}

    def close(self) -> None:
        """End the cell."""
        if self._contender is not None:
            self._contender.close()

    def _turned_outputs(self) -> list[str]:
        return list(self._turned.outputs) if self._turned else []


def _names(case: Case) -> list[str]:
    return [name for name, source in case.inputs.items() if isinstance(source, CustomInput)]


def _custom_cases(workload: Workload) -> list[str]:
    return [case.name for case in workload.cases if _names(case)]


def _turned(workload: Workload) -> Workload | None:
    """The workload whose outputs are the custom inputs of this one, from a seed and the scalars; None without any."""
    custom = {name for case in workload.cases for name in _names(case)}
    if not custom:
        return None
    scalars = {
        name: tensor
        for name, tensor in workload.inputs.items()
        if any(isinstance(case.inputs.get(name), ScalarInput) for case in workload.cases)
    }
    seed = {_SEED: Tensor(shape=None, dtype=DType.INT64)}
    outputs = {name: tensor for name, tensor in workload.inputs.items() if name in custom}
    return workload.model_copy(update={"inputs": seed | scalars, "outputs": outputs})


def _scalar(case: Case, name: str) -> torch.Tensor:
    source = case.inputs.get(name)
    return torch.tensor(source.value if isinstance(source, ScalarInput) else 0)


def _sound(name: str, value: torch.Tensor) -> torch.Tensor:
    """A copy that holds only values of its type.

    Raises:
        RejectedError: a float is NaN.
    """
    if value.dtype is torch.bool:
        # Whatever its cell left in the byte.
        return value.view(torch.uint8) != 0
    if value.is_floating_point() and bool(value.isnan().any()):
        message = f"made NaN in its custom input `{name}`"
        raise RejectedError(EvaluationStatus.INVALID_REFERENCE, message)
    return value.clone()
