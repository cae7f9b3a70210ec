# expect: INCORRECT_NUMERICAL, NONFINITE
# Hopes that fresh memory still holds somebody's answer.
from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def copy(found, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    tl.store(y + row * N + at, tl.load(found + row * N + at, mask=at < N), mask=at < N)


def run(x, y):
    M, N = x.shape
    copy[(M,)](torch.empty_like(y), y, N, BLOCK=triton.next_power_of_2(N))
