# expect: PASSED
# Its tuned values are knobs.
from __future__ import annotations

import triton
import triton.language as tl

KNOBS = {"BLOCK": 512, "STAGES": 3, "NUM_WARPS": 4}


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
    softmax[(M,)](x, y, N, BLOCK=KNOBS["BLOCK"], STAGES=KNOBS["STAGES"], num_warps=KNOBS["NUM_WARPS"])
