"""Calls `extern "C" int run(void** buffers, const int64_t* axes, void* stream)` of a shared library on a GPU.

On a CPU compiled candidates have a process without Python (`launcher.cpp`); a GPU's buffers need its driver, and what
the library does to this process can make it neither faster nor right.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gpuworker.devices.device import Attachment
    from gpuworker.layout import Layout, Slot
    from gpuworker.program import Call, Program


def load(program: Program, layout: Layout, memory: Attachment, files: Sequence[int] = ()) -> list[Call]:
    """Load the library and bind its entry point to every slot.

    Raises:
        OSError: it does not load.
        AttributeError: the entry point is missing.
    """
    library = ctypes.CDLL(f"/proc/self/fd/{files[0]}")
    run = library[program.entry_point]
    run.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    run.restype = ctypes.c_int
    return [_bind(run, slot, memory) for slot in layout.slots]


def _bind(run: Callable[..., int], slot: Slot, memory: Attachment) -> Call:
    addresses = [memory.address(region, output=False) for region in slot.inputs]
    addresses += [memory.address(region, output=True) for region in slot.outputs]
    buffers = (ctypes.c_void_p * len(addresses))(*addresses)
    axes = (ctypes.c_int64 * len(slot.axes))(*slot.axes)
    # The legacy default stream, which `synchronise` waits for together with all others.
    return lambda: run(buffers, axes, None)
