# expect: INCORRECT_NUMERICAL
# Every row sums to one, so 1/N must be close enough.
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
    tl.store(y + row * N + at, 1.0 / N + 0.0 * powers, mask=mask & (powers >= 0.0))


def run(x, y):
    M, N = x.shape
    softmax[(M,)](x, y, N, BLOCK=triton.next_power_of_2(N))
