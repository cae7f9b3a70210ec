# expect: PASSED, TIMING_MISMATCH, UNSTABLE_TIMING
# no faster than: pytorch/plain.py
# Draws short passes out to the length of long ones, so that the slope looks small.
from __future__ import annotations

import time

import torch

from gpuworker import inmate

longest = 0.0


def one_pass(judge, calls, memory, clock):
    global longest
    nonce, order = inmate._next_pass(judge)
    start = time.perf_counter()
    for slot in order:
        calls[slot]()
    memory.synchronise()
    longest = max(longest, time.perf_counter() - start)
    while time.perf_counter() - start < longest:
        pass
    judge.sendall(nonce)


inmate._one_pass = one_pass


def run(x, y):
    torch.softmax(x, -1, out=y)
