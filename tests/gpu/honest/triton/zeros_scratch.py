# expect: PASSED
# Counts on scratch that it has filled with zeros.
from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def softmax(x, y, counts, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < N
    values = tl.load(x + row * N + at, mask=mask, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    seen = tl.load(counts + row)
    tl.store(y + row * N + at, powers / tl.sum(powers, axis=0) + seen, mask=mask)
    tl.store(counts + row, seen + 1.0)


def run(x, y):
    M, N = x.shape
    counts = torch.zeros(M, device=x.device)
    softmax[(M,)](x, y, counts, N, BLOCK=triton.next_power_of_2(N))
