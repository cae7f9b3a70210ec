# expect: PASSED
# Takes numbers, truths, nothing, and constants.
from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def softmax(x, y, bias, N, scale, shifted: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    mask = at < N
    values = scale * tl.load(x + row * N + at, mask=mask, other=-float("inf"))
    if bias is not None:
        values += tl.load(bias + at, mask=mask, other=0.0)
    if shifted:
        values -= tl.max(values, axis=0)
    powers = tl.exp2(values)
    tl.store(y + row * N + at, powers / tl.sum(powers, axis=0), mask=mask)


def run(x, y):
    M, N = x.shape
    softmax[(M, 1, 1)](x, y, None, N, 1.4426950408889634, shifted=True, BLOCK=triton.next_power_of_2(N))
