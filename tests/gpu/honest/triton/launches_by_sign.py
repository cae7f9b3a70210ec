# expect: PASSED
# Launches one of two kernels by a value: whichever its rehearsal does not meet, the check does.
from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def softmax(x, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < N
    values = tl.load(x + row * N + at, mask=mask, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row * N + at, powers / tl.sum(powers, axis=0), mask=mask)


def run(x, y):
    M, N = x.shape
    warps = 4 if x[0, 0].item() < 0.0 else 8
    softmax[(M,)](x, y, N, BLOCK=triton.next_power_of_2(N), num_warps=warps)
