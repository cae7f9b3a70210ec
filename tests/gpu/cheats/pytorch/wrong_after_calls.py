# expect: INCORRECT_NUMERICAL
# Stops working once it has been checked.
from __future__ import annotations

import torch

calls = 0


def run(x, y):
    global calls
    calls += 1
    if calls < 60:
        torch.softmax(x, -1, out=y)
