# expect: COMPILE_ERROR, RUNTIME_ERROR
# Sends what it knows to another machine.
from __future__ import annotations

import socket

import triton
import triton.language as tl

socket.create_connection(("1.1.1.1", 53), timeout=2).send(b"hello")


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
