# PASSED: keeps buffers by shape between calls and uses numpy.
from __future__ import annotations

import numpy as np
import torch

kept: dict[tuple[int, ...], torch.Tensor] = {}


def run(x, y):
    buffer = kept.setdefault(tuple(x.shape), torch.empty_like(x))
    np.copyto(buffer.numpy(), x.numpy())
    torch.softmax(buffer, -1, out=y)
