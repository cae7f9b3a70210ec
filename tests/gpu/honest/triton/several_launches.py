# expect: PASSED
# Three kernels, one after the other, through scratch.
from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def row_max(x, tops, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    tl.store(tops + row, tl.max(tl.load(x + row * N + at, mask=at < N, other=-float("inf")), axis=0))


@triton.jit
def row_power(x, y, tops, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * N + at, mask=at < N, other=-float("inf"))
    tl.store(y + row * N + at, tl.exp(values - tl.load(tops + row)), mask=at < N)


@triton.jit
def row_divide(y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    powers = tl.load(y + row * N + at, mask=at < N, other=0.0)
    tl.store(y + row * N + at, powers / tl.sum(powers, axis=0), mask=at < N)


def run(x, y):
    M, N = x.shape
    tops = x.new_empty(M)
    block = triton.next_power_of_2(N)
    row_max[(M,)](x, tops, N, BLOCK=block)
    row_power[(M,)](x, y, tops, N, BLOCK=block)
    row_divide[(M,)](y, N, BLOCK=block)
