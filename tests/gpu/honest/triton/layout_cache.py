# expect: PASSED
# Keeps the launch of each shape in a dictionary.
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


launches = {}


def run(x, y):
    shape = tuple(x.shape)
    if shape not in launches:
        launches[shape] = (softmax[(shape[0],)], triton.next_power_of_2(shape[1]))
    launch, block = launches[shape]
    launch(x, y, shape[1], BLOCK=block)
