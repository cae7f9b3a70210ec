"""Calls a workload's reference: in its own types as the baseline, in float64 as the oracle.

On a CPU the copy of its results into the outputs belongs to the baseline's time; on a GPU, where it would be a
kernel of its own, it comes after the clock has stopped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from gpuworker.adapters import python
from gpuworker.program import WrongOutputError
from gpuworker.verdicts import Exit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gpuworker.devices.device import Attachment
    from gpuworker.layout import Layout, Slot
    from gpuworker.program import Call, Program


def load(program: Program, layout: Layout, memory: Attachment, files: Sequence[int] = ()) -> list[Call]:
    """Import the reference and bind it to every slot."""
    run = python.import_entry(program)
    bind = _bind_golden if program.golden else _bind
    if not program.clocked:
        return [bind(run, slot, memory) for slot in layout.slots]
    from gpuworker.cuda.graphs import deferred

    return list(deferred([_split(run, slot, memory) for slot in layout.slots]))


def _split(
    run: Callable[..., object], slot: Slot, memory: Attachment
) -> tuple[Callable[[], object], Callable[[object], None]]:
    inputs = python.inputs_of(slot, memory)
    outputs = [memory.tensor(region, output=True) for region in slot.outputs]
    return lambda: run(*inputs()), lambda result: _store(result, outputs)


def _bind(run: Callable[..., object], slot: Slot, memory: Attachment) -> Call:
    inputs = python.inputs_of(slot, memory)
    outputs = [memory.tensor(region, output=True) for region in slot.outputs]

    def call() -> None:
        _store(run(*inputs()), outputs)

    return call


def _bind_golden(run: Callable[..., object], slot: Slot, memory: Attachment) -> Call:
    inputs = python.inputs_of(slot, memory)
    outputs = [memory.tensor(region, output=True) for region in slot.outputs]

    def call() -> None:
        given = inputs()
        try:
            result = run(*[_widened(value) for value in given])
        except RuntimeError:
            # Some references name a type inside and refuse float64; then their own types are the best there is.
            result = run(*given)
        _store(result, outputs)

    return call


def _widened(value: object) -> object:
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.double()
    return value


def _store(result: object, outputs: Sequence[torch.Tensor]) -> None:
    for value, output in zip(python.returned(result, len(outputs)), outputs, strict=True):
        if value.shape != output.shape:
            raise WrongOutputError(
                Exit.WRONG_SHAPE, f"returned {tuple(value.shape)}, not {tuple(output.shape)}"
            )
        output.copy_(value)
