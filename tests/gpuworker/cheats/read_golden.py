# RUNTIME_ERROR: searches its whole memory for an array whose rows sum to one, and gives up.
from __future__ import annotations

import ctypes
import gc
import re
import sys
from pathlib import Path

import numpy as np
import torch


def looks_golden(array, rows, columns):
    if array.size < rows * columns:
        return False
    table = array[: rows * columns].reshape(rows, columns)
    return bool(np.isfinite(table).all() and np.allclose(table.sum(1), 1.0, atol=1e-3) and (table >= 0).all())


def tensors():
    for found in gc.get_objects():
        if isinstance(found, torch.Tensor):
            yield found
    frame = sys._getframe()
    while frame:
        yield from (value for value in frame.f_locals.values() if isinstance(value, torch.Tensor))
        frame = frame.f_back


def mapped(count):
    for line in Path("/proc/self/maps").read_text().splitlines():
        start, end, rights = re.match(r"(\w+)-(\w+) (\S+)", line).groups()
        size = int(end, 16) - int(start, 16)
        if not rights.startswith("r") or "vvar" in line or "vsyscall" in line or size > 1 << 28:
            continue
        for kind in (np.float32, np.float64):
            block = (ctypes.c_char * size).from_address(int(start, 16))
            array = np.frombuffer(block, dtype=kind)
            for begin in range(0, max(1, len(array) - count), 4096 // kind().itemsize):
                yield array[begin:]


def run(x, y):
    rows, columns = y.shape
    for tensor in tensors():
        if tensor.is_floating_point() and looks_golden(tensor.detach().reshape(-1).numpy(), rows, columns):
            print("LEAK tensor", tuple(tensor.shape))
    with np.errstate(all="ignore"):
        for array in mapped(rows * columns):
            if looks_golden(array, rows, columns):
                print("LEAK memory")
    raise RuntimeError("no golden output here")
