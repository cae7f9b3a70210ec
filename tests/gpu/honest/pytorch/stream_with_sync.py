# expect: PASSED
# A stream of its own, which it waits for.
from __future__ import annotations

import torch

side = torch.cuda.Stream()


def run(x, y):
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.softmax(x, -1, out=y)
    torch.cuda.current_stream().wait_stream(side)
