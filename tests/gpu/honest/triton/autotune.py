# expect: PASSED
# Tunes itself, which no plan can hold.
from __future__ import annotations

import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"BLOCK": block, "STAGES": 2}, num_warps=4) for block in (256, 512)], key=["N"]
)
@triton.jit
def softmax(x, y, N, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    row = tl.program_id(0)
    tops = tl.full((BLOCK,), -float("inf"), tl.float32)
    for start in tl.range(0, N, BLOCK, num_stages=STAGES):
        at = start + tl.arange(0, BLOCK)
        tops = tl.maximum(tops, tl.load(x + row * N + at, mask=at < N, other=-float("inf")))
    top = tl.max(tops, axis=0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in tl.range(0, N, BLOCK, num_stages=STAGES):
        at = start + tl.arange(0, BLOCK)
        total += tl.exp(tl.load(x + row * N + at, mask=at < N, other=-float("inf")) - top)
    scale = 1.0 / tl.sum(total, axis=0)
    for start in tl.range(0, N, BLOCK, num_stages=STAGES):
        at = start + tl.arange(0, BLOCK)
        values = tl.load(x + row * N + at, mask=at < N, other=-float("inf"))
        tl.store(y + row * N + at, tl.exp(values - top) * scale, mask=at < N)


def run(x, y):
    M, N = x.shape
    softmax[(M,)](x, y, N)
