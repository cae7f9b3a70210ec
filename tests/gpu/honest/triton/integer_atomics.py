# expect: PASSED
# Adds whole numbers in any order, which gives the same bits.
from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def count(x, counts, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * N + at, mask=at < N, other=-float("inf"))
    tl.atomic_add(counts, tl.sum((values > -float("inf")).to(tl.int32), axis=0))


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
    counts = torch.zeros(1, dtype=torch.int32, device=x.device)
    block = triton.next_power_of_2(N)
    count[(M,)](x, counts, N, BLOCK=block)
    softmax[(M,)](x, y, N, BLOCK=block)
