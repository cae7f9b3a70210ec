"""Lower bound of a call's time from what the device can move and compute at most; nothing honest is faster.

Bandwidth depends on how much memory is swept, so it is measured at several sizes with the C library's own
loops, and a case is held against the size just below the one its passes sweep, which errs in its favour.
"""

from __future__ import annotations

import ctypes
import os
import time
from typing import TYPE_CHECKING

from gpuworker import layout
from gpuworker.devices.device import Bandwidth
from search.workload import ITEM_BYTES, evaluate_expression

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuworker.devices.device import Ceiling
    from search.workload import Case, Workload

SHARE = 0.9
_SWEEPS = (1 << 20, 4 << 20, 16 << 20, 64 << 20)
_REPEATS = 6

_libc = ctypes.CDLL(None)
_libc.memchr.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t)
_libc.memchr.restype = ctypes.c_void_p
_libc.memset.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t)


def measure(cores: tuple[int, ...]) -> tuple[Bandwidth, ...]:
    """Measure on the contenders' cores; the calling thread visits the first of them and comes back.

    Several cores are credited with their number times what one can do.
    """
    home = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores[:1])
    try:
        return tuple(_at(size, len(cores)) for size in _SWEEPS)
    finally:
        os.sched_setaffinity(0, home)


def _at(size: int, cores: int) -> Bandwidth:
    memory = ctypes.create_string_buffer(size)
    address = ctypes.addressof(memory)
    read = _best(lambda: _libc.memchr(address, 1, size - 1), size)
    write = _best(lambda: _libc.memset(address, 0, size), size)
    return Bandwidth(size, read * cores, write * cores)


def _best(sweep: Callable[[], object], size: int) -> float:
    fastest = float("inf")
    repeats = max(1, (4 << 20) // size)
    for _ in range(_REPEATS):
        start = time.perf_counter()
        for _ in range(repeats):
            sweep()
        fastest = min(fastest, time.perf_counter() - start)
    return repeats * size / fastest


def floor_us(workload: Workload, case: Case, swept_bytes: int, ceiling: Ceiling) -> float:
    """No call of this case can take less, given that its passes sweep so much memory."""
    smaller = [one for one in ceiling.bandwidth if one.swept_bytes <= swept_bytes]
    bandwidth = smaller[-1] if smaller else ceiling.bandwidth[0]
    sizes = workload.sizes(case)
    operations = evaluate_expression(workload.floor.operations, sizes) if workload.floor.operations else 0
    seconds = max(
        operations / ceiling.operations, _moving_s(workload, case, bandwidth, duplex=ceiling.duplex)
    )
    return SHARE * seconds * 1e6


def _moving_s(workload: Workload, case: Case, bandwidth: Bandwidth, *, duplex: bool) -> float:
    sizes = workload.sizes(case)
    if workload.floor.bytes:
        return evaluate_expression(workload.floor.bytes, sizes) / max(bandwidth.read, bandwidth.write)
    written = sum(
        ITEM_BYTES[tensor.dtype] * _elements(workload.shape(tensor, sizes))
        for tensor in workload.outputs.values()
    )
    read = layout.slot_bytes(workload, case) - written
    if not duplex:
        return (read + written) / max(bandwidth.read, bandwidth.write)
    return max(read / bandwidth.read, written / bandwidth.write)


def _elements(shape: tuple[int, ...]) -> int:
    total = 1
    for size in shape:
        total *= size
    return total
