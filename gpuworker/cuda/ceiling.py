"""The most a GPU was seen to move and compute: what no honest kernel exceeds by more than noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from gpuworker.devices.device import Bandwidth, Ceiling

if TYPE_CHECKING:
    from collections.abc import Callable

_SWEPT_BYTES = 2 << 30
_EDGE = 8192
_REPEATS = 8


def measure(device: torch.device) -> Ceiling:
    """Best of several sweeps: copy, read and write of 2 GiB, and a bfloat16 matrix product of edge 8192."""
    source = torch.zeros(_SWEPT_BYTES // 4, device=device)
    target = torch.empty_like(source)
    copy = 2 * _SWEPT_BYTES / _fastest_s(lambda: target.copy_(source))
    read = _SWEPT_BYTES / _fastest_s(lambda: source.sum())
    write = _SWEPT_BYTES / _fastest_s(lambda: target.zero_())
    most = max(copy, read, write)
    return Ceiling((Bandwidth(0, most, most),), duplex=False, operations=_operations(device))


def _operations(device: torch.device) -> float:
    # Zeros let the chip run faster than any real product does, which errs in the candidate's favour.
    one = torch.zeros(_EDGE, _EDGE, dtype=torch.bfloat16, device=device)
    other = torch.zeros_like(one)
    return float(2 * _EDGE**3 / _fastest_s(lambda: torch.mm(one, other)))


def _event() -> torch.cuda.Event:
    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]


def _fastest_s(work: Callable[[], object]) -> float:
    start, stop = _event(), _event()
    fastest = float("inf")
    for _ in range(_REPEATS):
        start.record()
        work()
        stop.record()
        torch.cuda.synchronize()
        fastest = min(fastest, start.elapsed_time(stop) * 1e-3)
    return fastest
