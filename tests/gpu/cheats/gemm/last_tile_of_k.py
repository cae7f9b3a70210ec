# expect: INCORRECT_NUMERICAL
# Leaves the last tile of K out where there are several.
from __future__ import annotations

import triton
import triton.language as tl

KNOBS = {"BLOCK": 64, "BLOCK_K": 32}


@triton.jit
def product(a, b, c, M, N, K, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        left = tl.load(a + m * K + k[None, :], mask=(m < M) & (k[None, :] < K), other=0.0)
        right = tl.load(b + k[:, None] * N + n, mask=(k[:, None] < K) & (n < N), other=0.0)
        if (start + BLOCK_K < K) | (K <= BLOCK_K):
            total += tl.dot(left, right, input_precision="ieee")
    tl.store(c + m * N + n, total, mask=(m < M) & (n < N))


def run(a, b, c):
    M, K = a.shape
    N = b.shape[1]
    grid = (triton.cdiv(M, KNOBS["BLOCK"]), triton.cdiv(N, KNOBS["BLOCK"]))
    product[grid](a, b, c, M, N, K, BLOCK=KNOBS["BLOCK"], BLOCK_K=KNOBS["BLOCK_K"])
