"""Calls a workload's reference: in its own types as the baseline, in float64 as the oracle.

On a CPU the copy of its results into the outputs belongs to the baseline's time; on a GPU, where it would be a
kernel of its own, it comes after the clock has stopped.
"""

from __future__ import annotations

import os
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
    if program.compiled:
        run = _compiled(run)
    bind = _bind_golden if program.golden else _bind
    if program.clocked:
        from gpuworker.cuda.graphs import deferred

        slots = [_split(run, slot, memory) for slot in layout.slots]
        return list(deferred(slots, at_once=program.compiled))
    calls = [bind(run, slot, memory) for slot in layout.slots]
    if program.compiled:
        calls[0]()  # where a graph is captured it has been called already
    return calls


def _compiled(run: Callable[..., object]) -> Callable[..., object]:
    """For exactly the sizes of its first call, in this process, with files where a cell may write."""
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = "/tmp/inductor"
    os.environ.setdefault("TRITON_CACHE_DIR", "/tmp/triton")
    os.environ["USER"] = "reference"  # torch names folders after the user, and a cell's user has no name
    import torch._dynamo.device_interface
    import torch._inductor.config
    import torch.utils._triton

    # This process was forked from one that had no device, and torch remembers what it found there.
    for known in vars(torch.utils._triton).values():
        if hasattr(known, "cache_clear"):
            known.cache_clear()
    torch._dynamo.device_interface.init_device_reg()
    torch._inductor.config.compile_threads = 1
    # Such a header takes longer to make than the few programs of a reference to compile, and is a very long file.
    torch._inductor.config.cpp_cache_precompile_headers = False
    compiled: Callable[..., object] = torch.compile(run, mode="max-autotune-no-cudagraphs", dynamic=False)
    return compiled


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
