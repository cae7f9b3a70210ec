# expect: COMPILE_ERROR, OOM
# Writes ten gigabytes to its log and to files.
from __future__ import annotations

import os
from pathlib import Path

import triton
import triton.language as tl

block = bytes(1 << 20)
for number in range(20):
    try:
        with Path(f"/tmp/{number}").open("wb") as file:
            for _ in range(512):
                file.write(block)
    except OSError:
        pass
for _ in range(10 << 10):
    os.write(1, block)


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
    softmax[(M,)](x, y, N, BLOCK=triton.next_power_of_2(N))
