# expect: PASSED
# Launches on slices of its tensors.
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
    half = M // 2
    block = triton.next_power_of_2(N)
    softmax[(half,)](x[:half], y[:half], N, BLOCK=block)
    softmax[(M - half,)](x.view(-1)[half * N :], y[half:], N, BLOCK=block)
