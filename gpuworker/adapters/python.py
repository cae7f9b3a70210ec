"""Calls `run(*inputs, *outputs)` of a Python module, or `run(*inputs)` that returns its outputs."""

from __future__ import annotations

import importlib.util
import inspect
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from gpuworker.program import WrongOutputError
from gpuworker.verdicts import Exit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gpuworker.devices.device import Attachment
    from gpuworker.layout import Layout, Slot
    from gpuworker.program import Call, Program


def load(program: Program, layout: Layout, memory: Attachment, files: Sequence[int] = ()) -> list[Call]:
    """Import the module and bind its entry point to every slot.

    Raises:
        ImportError: the entry point is missing or takes another number of tensors.
    """
    run = import_entry(program)
    bind = _bind_destination if writes_in_place(run, program) else _bind_return
    return [bind(run, slot, memory) for slot in layout.slots]


def writes_in_place(run: Callable[..., object], program: Program) -> bool:
    """Whether it takes its outputs as arguments, rather than returning them.

    Raises:
        ImportError: it takes another number of arguments.
    """
    least, most = program.input_count, program.input_count + program.output_count
    taken = _positional(run)
    if taken not in {least, most}:
        raise ImportError(
            f"`{program.entry_point}` takes {taken} arguments, not {most} (inputs, then outputs)"
        )
    return taken == most


def import_entry(program: Program) -> Callable[..., object]:
    """Write the sources to a private folder and import the first.

    Raises:
        ImportError: it does not define the entry point.
    """
    folder = Path(tempfile.mkdtemp())
    for file in program.sources:
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.content)
    sys.path.insert(0, str(folder))
    sys.dont_write_bytecode = True
    first = folder / program.sources[0].path
    spec = importlib.util.spec_from_file_location("candidate", first)
    if spec is None or spec.loader is None:
        raise ImportError(f"{first.name} is no Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules["candidate"] = module
    spec.loader.exec_module(module)
    found: Callable[..., object] | None = getattr(module, program.entry_point, None)
    if not callable(found):
        raise ImportError(f"{first.name} does not define `{program.entry_point}`")
    return found


def inputs_of(slot: Slot, memory: Attachment) -> Callable[[], list[object]]:
    """Reads a slot's inputs anew at every call, since the judge changes their values; scalars become numbers."""
    tensors = [memory.tensor(region, output=False) for region in slot.inputs]
    scalars = [region.scalar for region in slot.inputs]
    if not any(scalars):
        fixed: list[object] = list(tensors)
        return lambda: fixed
    return lambda: [t.item() if scalar else t for t, scalar in zip(tensors, scalars, strict=True)]


def returned(value: object, count: int) -> list[torch.Tensor]:
    """Outputs of a return-style call.

    Raises:
        WrongOutputError: another number of outputs, or something that is not exactly a tensor.
    """
    values = list(value) if isinstance(value, (tuple, list)) else [value]
    if len(values) != count:
        raise WrongOutputError(Exit.WRONG_SHAPE, f"returned {len(values)} outputs, not {count}")
    # A subclass could put its work off until it is looked at.
    plain = [one for one in values if isinstance(one, torch.Tensor) and type(one) is torch.Tensor]
    if len(plain) != count:
        raise WrongOutputError(Exit.WRONG_DTYPE, "returned something that is not exactly a tensor")
    return plain


def _positional(run: Callable[..., object]) -> int:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(run).parameters.values()
    return sum(p.kind in kinds and p.default is inspect.Parameter.empty for p in parameters)


def _bind_destination(run: Callable[..., object], slot: Slot, memory: Attachment) -> Call:
    inputs = inputs_of(slot, memory)
    outputs = [memory.tensor(region, output=True) for region in slot.outputs]

    def call() -> None:
        run(*inputs(), *outputs)

    return call


def _bind_return(run: Callable[..., object], slot: Slot, memory: Attachment) -> Call:
    inputs = inputs_of(slot, memory)
    outputs = [memory.tensor(region, output=True) for region in slot.outputs]

    def call() -> None:
        for value, output in zip(returned(run(*inputs()), len(outputs)), outputs, strict=True):
            if value.shape != output.shape:
                raise WrongOutputError(
                    Exit.WRONG_SHAPE, f"returned {tuple(value.shape)}, not {tuple(output.shape)}"
                )
            if value.dtype != output.dtype:
                raise WrongOutputError(Exit.WRONG_DTYPE, f"returned {value.dtype}, not {output.dtype}")
            output.copy_(value)

    return call
