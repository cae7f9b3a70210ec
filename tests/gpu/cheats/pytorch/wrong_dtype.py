# expect: INCORRECT_DTYPE
# Returns half of the bits.
from __future__ import annotations

import torch


def run(x):
    return torch.softmax(x, -1).half()
