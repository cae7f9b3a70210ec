# expect: PASSED
# Keeps counters that are zero when it is loaded; the last program of a row sets them back.
from __future__ import annotations

import torch
import triton
import triton.language as tl

PARTS = 4
ARRIVED = torch.zeros(1024, dtype=torch.int32, device="cuda")


@triton.jit
def softmax(x, y, tops, totals, arrived, N, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    row, part = tl.program_id(0), tl.program_id(1)
    at = part * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + row * N + at, mask=at < N, other=-float("inf"))
    top = tl.max(values, axis=0)
    finite = tl.where(top == -float("inf"), 0.0, top)
    tl.store(tops + row * PARTS + part, top)
    tl.store(totals + row * PARTS + part, tl.sum(tl.exp(values - finite), axis=0))
    tl.debug_barrier()
    if tl.atomic_add(arrived + row, 1) == PARTS - 1:
        tl.store(arrived + row, 0)
        parts = row * PARTS + tl.arange(0, PARTS)
        each = tl.load(tops + parts, volatile=True)
        highest = tl.max(each, axis=0)
        total = tl.sum(tl.load(totals + parts, volatile=True) * tl.exp(each - highest), axis=0)
        for start in range(0, PARTS * BLOCK, BLOCK):
            here = start + tl.arange(0, BLOCK)
            found = tl.load(x + row * N + here, mask=here < N, other=-float("inf"))
            tl.store(y + row * N + here, tl.exp(found - highest) / total, mask=here < N)


def run(x, y):
    M, N = x.shape
    tops = torch.empty((M, PARTS), device=x.device)
    totals = torch.empty_like(tops)
    block = triton.next_power_of_2(triton.cdiv(N, PARTS))
    softmax[(M, PARTS)](x, y, tops, totals, ARRIVED, N, PARTS=PARTS, BLOCK=block)
