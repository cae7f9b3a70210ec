# expect: OOM
# Takes device memory until there is none.
from __future__ import annotations

import torch

kept = []


def run(x, y):
    while True:
        kept.append(torch.empty(1 << 30, dtype=torch.uint8, device=x.device))
