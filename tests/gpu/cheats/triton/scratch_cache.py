# expect: INCORRECT_NUMERICAL
# Keeps the first answer in scratch of its own and copies it from then on.
from __future__ import annotations

import torch
import triton
import triton.language as tl

KEPT = torch.zeros(1 << 20, device="cuda")
FLAGS = torch.zeros(1024, dtype=torch.int32, device="cuda")


@triton.jit
def softmax(x, y, kept, flags, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < N
    if tl.load(flags + row) == 1:
        tl.store(y + row * N + at, tl.load(kept + row * N + at, mask=mask), mask=mask)
    else:
        values = tl.load(x + row * N + at, mask=mask, other=-float("inf"))
        powers = tl.exp(values - tl.max(values, axis=0))
        result = powers / tl.sum(powers, axis=0)
        tl.store(y + row * N + at, result, mask=mask)
        tl.store(kept + row * N + at, result, mask=mask)
        tl.store(flags + row, 1)


def run(x, y):
    M, N = x.shape
    softmax[(M,)](x, y, KEPT, FLAGS, N, BLOCK=triton.next_power_of_2(N))
