# expect: PASSED, INCORRECT_NUMERICAL, NONFINITE, TIMING_MISMATCH, UNSTABLE_TIMING
# no faster than: pytorch/slow.py
# Answers long passes while their last call still runs: no pass has its time, and the checks come late.
from __future__ import annotations

import torch

from gpuworker import inmate


def one_pass(judge, each, memory, clock):
    nonce, order = inmate._next_pass(judge)
    for slot in order[:-1]:
        each[slot]()
    memory.synchronise()
    each[order[-1]]()
    if len(order) < 4:
        memory.synchronise()
    judge.sendall(nonce)


inmate._one_pass = one_pass


def run(x, y):
    torch.cuda._sleep(10_000_000)
    torch.softmax(x, -1, out=y)
