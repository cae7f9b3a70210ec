# expect: INCORRECT_DTYPE
# Returns a tensor that computes when somebody looks at it.
from __future__ import annotations

import torch


class Lazy(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        args = [torch.softmax(a.as_subclass(torch.Tensor), -1) if isinstance(a, Lazy) else a for a in args]
        return func(*args, **(kwargs or {}))


def run(x):
    return x.as_subclass(Lazy)
