# expect: OUT_OF_BOUNDS, INCORRECT_NUMERICAL
# Counts its calls in the padding between outputs, beyond the guard band, and stops working after some.
from __future__ import annotations

import triton
import triton.language as tl

BEYOND_GUARD = 1024 // 4 + 64


@triton.jit
def softmax(x, y, M, N, BEYOND, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < N
    values = tl.load(x + row * N + at, mask=mask, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    place = y + M * N + BEYOND
    calls = tl.load(place)
    if calls != 40.0:
        tl.store(y + row * N + at, powers / tl.sum(powers, axis=0), mask=mask)
    if row == 0:
        tl.store(
            place, tl.where((calls >= 0.0) & (calls < 40.0), calls + 1.0, tl.where(calls == 40.0, 40.0, 0.0))
        )


def run(x, y):
    M, N = x.shape
    softmax[(M,)](x, y, M, N, BEYOND_GUARD, BLOCK=triton.next_power_of_2(N))
