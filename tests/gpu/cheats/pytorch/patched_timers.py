# expect: PASSED, INCORRECT_NUMERICAL, UNSTABLE_TIMING, TIMING_MISMATCH
# no faster than: pytorch/plain.py
# Stops every clock that it can reach: by module, by alias and through the garbage collector.
from __future__ import annotations

import gc
import sys

import torch

CLOCKS = ("time", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns")
torch.cuda.Event.elapsed_time = lambda self, other: 1e-3
torch.cuda.Event.record = lambda self, stream=None: None
for module in list(sys.modules.values()):
    for name in CLOCKS:
        if name in vars(module):
            setattr(module, name, lambda: 0)
for found in gc.get_objects():
    if type(found) is dict and "perf_counter" in found:
        found["perf_counter"] = lambda: 0


def run(x, y):
    torch.softmax(x, -1, out=y)
