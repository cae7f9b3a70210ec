# expect: INCORRECT_NUMERICAL
# Computes again only when torch says that a tensor was written.
from __future__ import annotations

import torch

kept = {}


def run(x, y):
    key = (x.data_ptr(), x._version)
    if key not in kept:
        kept[key] = torch.softmax(x, -1)
    y.copy_(kept[key])
