# expect: PASSED
# Splits rows and combines through scratch.
from __future__ import annotations

import torch
import triton
import triton.language as tl

PARTS = 4


@triton.jit
def partial(x, tops, totals, N, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    row, part = tl.program_id(0), tl.program_id(1)
    at = part * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + row * N + at, mask=at < N, other=-float("inf"))
    top = tl.max(values, axis=0)
    finite = tl.where(top == -float("inf"), 0.0, top)
    tl.store(tops + row * PARTS + part, top)
    tl.store(totals + row * PARTS + part, tl.sum(tl.exp(values - finite), axis=0))


@triton.jit
def combine(x, y, tops, totals, N, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    row, part = tl.program_id(0), tl.program_id(1)
    parts = row * PARTS + tl.arange(0, PARTS)
    each = tl.load(tops + parts)
    top = tl.max(each, axis=0)
    total = tl.sum(tl.load(totals + parts) * tl.exp(each - top), axis=0)
    at = part * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + row * N + at, mask=at < N, other=-float("inf"))
    tl.store(y + row * N + at, tl.exp(values - top) / total, mask=at < N)


def run(x, y):
    M, N = x.shape
    tops = torch.empty((M, PARTS), device=x.device)
    totals = torch.empty_like(tops)
    block = triton.next_power_of_2(triton.cdiv(N, PARTS))
    partial[(M, PARTS)](x, tops, totals, N, PARTS=PARTS, BLOCK=block)
    combine[(M, PARTS)](x, y, tops, totals, N, PARTS=PARTS, BLOCK=block)
