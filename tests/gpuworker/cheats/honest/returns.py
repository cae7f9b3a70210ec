# PASSED: returns its output.
from __future__ import annotations

import torch


def run(x):
    top = x.max(-1, keepdim=True).values
    shifted = torch.exp(x - top)
    return shifted / shifted.sum(-1, keepdim=True)
