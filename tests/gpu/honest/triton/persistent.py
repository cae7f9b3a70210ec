# expect: PASSED
# A program for each multiprocessor.
from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def softmax(x, y, M, N, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    mask = at < N
    for row in tl.range(tl.program_id(0), M, tl.num_programs(0)):
        values = tl.load(x + row * N + at, mask=mask, other=-float("inf"))
        powers = tl.exp(values - tl.max(values, axis=0))
        tl.store(y + row * N + at, powers / tl.sum(powers, axis=0), mask=mask)


def run(x, y):
    M, N = x.shape
    programs = torch.cuda.get_device_properties(x.device).multi_processor_count
    softmax[(min(M, programs),)](x, y, M, N, BLOCK=triton.next_power_of_2(N))
