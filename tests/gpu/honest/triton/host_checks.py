# expect: PASSED
# Asks much of its tensors and its device before it starts.
from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def softmax(x, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < N
    values = tl.load(x + row * N + at, mask=mask, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row * N + at, powers / tl.sum(powers, axis=0), mask=mask)


def run(x, y):
    assert x.is_cuda
    assert y.device == x.device
    assert x.dtype == torch.float32
    assert x.is_contiguous()
    assert x.stride() == y.stride()
    assert x.data_ptr() % 16 == 0
    assert torch.cuda.is_available()
    assert torch.cuda.get_device_capability(x.device)[0] >= 8
    M, N = x.shape
    with torch.cuda.device(x.device):
        softmax[(M,)](x, y, N, BLOCK=triton.next_power_of_2(N))
