# expect: PASSED
# An instruction written by hand.
from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def softmax(x, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < N
    values = tl.load(x + row * N + at, mask=mask, other=-float("inf"))
    shifted = (values - tl.max(values, axis=0)) * 1.4426950408889634
    powers = tl.inline_asm_elementwise("ex2.approx.f32 $0, $1;", "=f,f", [shifted], tl.float32, True, 1)
    tl.store(y + row * N + at, powers / tl.sum(powers, axis=0), mask=mask)


def run(x, y):
    M, N = x.shape
    softmax[(M,)](x, y, N, BLOCK=triton.next_power_of_2(N))
