# expect: OOM, PASSED
# Takes all device memory and works on, so that the judge has none to check with.
from __future__ import annotations

import torch

kept = []
size = 1 << 33
while size >= 1 << 21:
    try:
        kept.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
    except torch.OutOfMemoryError:
        size //= 2
kept.pop()


def run(x, y):
    torch.softmax(x, -1, out=y)
