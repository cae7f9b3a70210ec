# PASSED: falls back when an operation refuses.
from __future__ import annotations

import torch


def run(x, y):
    try:
        torch.softmax(x, -1, out=y)
    except RuntimeError:
        y.copy_(torch.softmax(x, -1))
    finally:
        pass
