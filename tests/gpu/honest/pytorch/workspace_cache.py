# expect: PASSED
# Keeps a workspace for each shape, but no values.
from __future__ import annotations

import torch

kept = {}


def run(x, y):
    if x.shape not in kept:
        kept[x.shape] = torch.empty_like(x)
    scratch = kept[x.shape]
    torch.sub(x, x.amax(-1, keepdim=True), out=scratch)
    torch.exp(scratch, out=scratch)
    torch.div(scratch, scratch.sum(-1, keepdim=True), out=y)
