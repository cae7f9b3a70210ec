# expect: RUNTIME_ERROR, COMPILE_ERROR, CRASH
# Overwrites the compiled kernels in the compiler's cache.
from __future__ import annotations

from pathlib import Path

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
    x[0, 0].item()
    softmax[(M,)](x, y, N, BLOCK=triton.next_power_of_2(N))
    for path in Path("/tmp/triton").rglob("*.cubin"):
        path.write_bytes(b"garbage")
