# expect: NONDETERMINISTIC
# Adds in whatever order programs come, where the workload asks for the same bits.
from __future__ import annotations

import torch
import triton
import triton.language as tl

PARTS = 16


@triton.jit
def sums(x, totals, N, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    row, part = tl.program_id(0), tl.program_id(1)
    at = part + PARTS * tl.arange(0, BLOCK)
    values = tl.load(x + row * N + at, mask=at < N, other=-float("inf"))
    tl.atomic_add(totals + row, tl.sum(tl.exp(values * 0.015625), axis=0), sem="relaxed")


@triton.jit
def divide(x, y, totals, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < N
    values = tl.load(x + row * N + at, mask=mask, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    noise = tl.load(totals + row)
    bits = noise.to(tl.int32, bitcast=True) & 1
    result = powers / tl.sum(powers, axis=0)
    tl.store(y + row * N + at, result * (1.0 + bits.to(tl.float32) * 1.2e-7), mask=mask)


def run(x, y):
    M, N = x.shape
    totals = torch.zeros(M, device=x.device)
    sums[(M, PARTS)](x, totals, N, PARTS=PARTS, BLOCK=triton.next_power_of_2(triton.cdiv(N, PARTS)))
    divide[(M,)](x, y, totals, N, BLOCK=triton.next_power_of_2(N))
