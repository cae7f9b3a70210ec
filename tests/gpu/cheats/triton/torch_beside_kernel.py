# expect: CONTRACT_VIOLATION
# Lets torch do the work and launches a kernel that copies.
from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def copy(source, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    tl.store(y + row * N + at, tl.load(source + row * N + at, mask=at < N), mask=at < N)


def run(x, y):
    M, N = x.shape
    copy[(M,)](torch.softmax(x, -1), y, N, BLOCK=triton.next_power_of_2(N))
