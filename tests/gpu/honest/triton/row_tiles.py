# expect: PASSED
# Several rows in a program, masked on both sides.
from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def softmax(x, y, M, N, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    at = tl.arange(0, BLOCK)[None, :]
    mask = (rows < M) & (at < N)
    values = tl.load(x + rows * N + at, mask=mask, other=0.0)
    values = tl.where(at < N, values, -float("inf"))
    powers = tl.exp(values - tl.max(values, axis=1, keep_dims=True))
    tl.store(y + rows * N + at, powers / tl.sum(powers, axis=1, keep_dims=True), mask=mask)


def run(x, y):
    M, N = x.shape
    softmax[(triton.cdiv(M, 4),)](x, y, M, N, ROWS=4, BLOCK=triton.next_power_of_2(N))
