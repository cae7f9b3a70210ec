# expect: ILLEGAL_ACCESS
# Looks for the right answer far behind its input.
from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def found(x, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < N
    answer = tl.load(x + (1 << 34) + row * N + at, mask=mask)
    tl.store(y + row * N + at, answer, mask=mask)


def run(x, y):
    M, N = x.shape
    found[(M,)](x, y, N, BLOCK=triton.next_power_of_2(N))
