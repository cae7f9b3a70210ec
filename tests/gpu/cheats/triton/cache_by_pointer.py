# expect: INCORRECT_NUMERICAL
# Launches once for each pointer; what a plan cannot hold makes it run on the device.
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


done = set()


def run(x, y):
    M, N = x.shape
    x[0, 0].item()
    if y.data_ptr() not in done:
        done.add(y.data_ptr())
        softmax[(M,)](x, y, N, BLOCK=triton.next_power_of_2(N))
