# expect: PASSED, UNSTABLE_TIMING, TIMING_MISMATCH
# no faster than: pytorch/plain.py
# Dawdles at first, so that passes stay short.
from __future__ import annotations

import time

import torch

calls = 0


def run(x, y):
    global calls
    calls += 1
    if calls < 40:
        time.sleep(0.005)
    torch.softmax(x, -1, out=y)
