# expect: PASSED, INCORRECT_NUMERICAL, NONFINITE, UNSTABLE_TIMING, TIMING_MISMATCH
# no faster than: pytorch/plain.py
# Makes every wait for the device return at once, so that it answers before its kernels are done.
from __future__ import annotations

import torch

from gpuworker.cuda import driver

torch.cuda.synchronize = lambda device=None: None
torch.cuda.Stream.synchronize = lambda self: None
torch.cuda.Event.synchronize = lambda self: None
driver.synchronise = lambda: None
driver.cu.cuCtxSynchronize = lambda: (driver.cu.CUresult.CUDA_SUCCESS,)


def run(x, y):
    torch.softmax(x, -1, out=y)
