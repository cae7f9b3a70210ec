"""Calls the function of a workload's source that makes its custom inputs, which are this program's outputs."""

from __future__ import annotations

import random
import sys
from typing import TYPE_CHECKING, cast

import torch

from gpuworker.adapters import python
from gpuworker.program import WrongOutputError
from gpuworker.verdicts import Exit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gpuworker.devices.device import Attachment
    from gpuworker.layout import Layout, Slot
    from gpuworker.program import Call, Program

_LARGEST_NUMPY_SEED = (1 << 32) - 1


def load(program: Program, layout: Layout, memory: Attachment, files: Sequence[int] = ()) -> list[Call]:
    """Import the source and bind its function to every slot."""
    make = python.import_entry(program)
    return [_bind(make, program.axes, slot, memory) for slot in layout.slots]


def _bind(make: Callable[..., object], axes: Sequence[str], slot: Slot, memory: Attachment) -> Call:
    given = python.inputs_of(slot, memory)
    outputs = {region.name: memory.tensor(region, output=True) for region in slot.outputs}
    sizes = dict(zip(axes, slot.axes, strict=True))
    device = next(iter(outputs.values())).device

    def call() -> None:
        seed, *scalars = given()
        _sow(cast("int", seed))
        names = [region.name for region in slot.inputs[1:]]
        made = make({**sizes, **dict(zip(names, scalars, strict=True))}, device)
        if not isinstance(made, dict):
            raise WrongOutputError(Exit.WRONG_SHAPE, f"returned {type(made).__name__}, not a dict of inputs")
        _store(made, outputs)

    return call


def _sow(seed: int) -> None:
    """Seed everything that such a function may draw from."""
    random.seed(seed)
    torch.manual_seed(seed)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(seed & _LARGEST_NUMPY_SEED)


def _store(made: Mapping[str, object], outputs: Mapping[str, torch.Tensor]) -> None:
    for name, output in outputs.items():
        if name not in made:
            raise WrongOutputError(Exit.WRONG_SHAPE, f"did not return `{name}`")
        value = torch.as_tensor(made[name])
        if value.shape != output.shape:
            message = f"`{name}` is {tuple(value.shape)}, not {tuple(output.shape)}"
            raise WrongOutputError(Exit.WRONG_SHAPE, message)
        if value.dtype != output.dtype and output.ndim:
            raise WrongOutputError(Exit.WRONG_DTYPE, f"`{name}` is {value.dtype}, not {output.dtype}")
        output.copy_(value)
