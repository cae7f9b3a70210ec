# expect: PASSED
# Functions that call functions.
from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def loaded(x, row, at, N):
    return tl.load(x + row * N + at, mask=at < N, other=-float("inf"))


@triton.jit
def powers_of(values):
    return tl.exp(values - tl.max(values, axis=0))


@triton.jit
def larger(a, b):
    return tl.where(a > b, a, b)


@triton.jit
def softmax(x, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = loaded(x, row, at, N)
    top = tl.reduce(values, 0, larger)
    powers = tl.exp(values - top)
    tl.store(y + row * N + at, powers / tl.sum(powers, axis=0), mask=at < N)


def run(x, y):
    M, N = x.shape
    softmax[(M,)](x, y, N, BLOCK=triton.next_power_of_2(N))
