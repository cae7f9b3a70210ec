# INCORRECT_DTYPE: returns a tensor that computes when it is looked at.
from __future__ import annotations

import torch


class Later(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, arguments=(), keywords=None):
        plain = [a.as_subclass(torch.Tensor) if isinstance(a, Later) else a for a in arguments]
        return function(*plain, **(keywords or {}))


def run(x):
    return x.clone().as_subclass(Later)
