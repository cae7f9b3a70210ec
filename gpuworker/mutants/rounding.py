"""Source text put behind a reference so that it computes with less precision than the workload declares.

A dispatch mode inside the cell rounds what goes in and out of torch's operations; within one operation torch keeps
its own precision, so a real kernel of that precision errs at least as much. A mutant that dies here dies there.
"""

from __future__ import annotations

from search.workload import DType

_SHARED = """

import torch as _torch
from torch.utils import _pytree
from torch.utils._python_dispatch import TorchDispatchMode as _Mode

_honest = run
_PRODUCTS = {"aten::mm", "aten::bmm", "aten::addmm", "aten::baddbmm", "aten::mv", "aten::dot", "aten::convolution"}


def _narrow(value):
    return value.to(_torch.%(narrow)s).to(value.dtype)


def _tf32(value):
    bits = value.float().contiguous().view(_torch.int32)
    return ((bits + 0x1000) & ~0x1FFF).view(_torch.float32).to(value.dtype)


def _all(round_, tree):
    def one(value):
        return round_(value) if isinstance(value, _torch.Tensor) and value.is_floating_point() else value
    return _pytree.tree_map(one, tree)
"""

_RESULTS = """

class _Rounding(_Mode):
    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        result = function(*arguments, **(options or {}))
        # Views must stay views, or what is written through them is lost.
        if any(one.alias_info is not None for one in function._schema.returns):
            return result
        return _all(_narrow, result)


def run(*inputs):
    with _Rounding():
        return _honest(*_all(_narrow, inputs))
"""

_INPUTS = """

def run(*inputs):
    return _honest(*_all(_narrow, inputs))
"""

_TF32_PRODUCTS = """

class _Rounding(_Mode):
    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        if function._schema.name in _PRODUCTS:
            arguments = _all(_tf32, arguments)
        return function(*arguments, **(options or {}))


def run(*inputs):
    with _Rounding():
        return _honest(*inputs)
"""

_SUMS = """

_CHUNK = 16


def _product(a, b):
    total = 0.0
    for start in range(0, a.shape[-1], _CHUNK):
        part = a[..., start : start + _CHUNK] @ b[..., start : start + _CHUNK, :]
        total = _narrow(total + part)
    return total


def _sum(value, axes=None, keepdim=False, dtype=None):
    axes = range(value.ndim) if not axes else [axis % value.ndim for axis in axes]
    for axis in axes:
        total = 0.0
        for part in value.split(_CHUNK, axis):
            total = _narrow(total + part.sum(axis, keepdim=True))
        value = total
    return value if keepdim else value.flatten().reshape([n for i, n in enumerate(value.shape) if i not in axes])


def _running(value, axis, dtype=None):
    carry, parts = 0.0, []
    for part in value.split(_CHUNK, axis):
        parts.append(_narrow(carry + part.cumsum(axis)))
        carry = parts[-1].narrow(axis, parts[-1].shape[axis] - 1, 1)
    return _torch.cat(parts, axis)


def _mean(value, axes=None, keepdim=False, dtype=None):
    total = _sum(value, axes, keepdim)
    return total * (max(total.numel(), 1) / max(value.numel(), 1))


_KEPT = {
    "aten::mm": _product,
    "aten::bmm": _product,
    "aten::addmm": lambda c, a, b, **options: c + _product(a, b),
    "aten::baddbmm": lambda c, a, b, **options: c + _product(a, b),
    "aten::sum": _sum,
    "aten::mean": _mean,
    "aten::cumsum": _running,
}


class _Rounding(_Mode):
    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        kept = _KEPT.get(function._schema.name)
        floats = all(one.is_floating_point() for one in arguments if isinstance(one, _torch.Tensor))
        if kept and floats and all(one.numel() for one in arguments if isinstance(one, _torch.Tensor)):
            return kept(*arguments, **(options or {}))
        return function(*arguments, **(options or {}))


def run(*inputs):
    with _Rounding():
        return _honest(*inputs)
"""

_NARROWER: dict[DType, tuple[DType, ...]] = {
    DType.FLOAT64: (DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16),
    DType.FLOAT32: (DType.FLOAT16, DType.BFLOAT16),
    DType.FLOAT16: (DType.BFLOAT16, DType.FLOAT8_E4M3FN),
    DType.BFLOAT16: (DType.FLOAT8_E4M3FN,),
}
"""What is less than declared. A bfloat16 workload computed in float16 is not less precise, only narrower."""

_SUM_TYPES = {
    DType.FLOAT64: DType.FLOAT32,
    DType.FLOAT32: DType.FLOAT16,
    DType.FLOAT16: DType.FLOAT16,
    DType.BFLOAT16: DType.BFLOAT16,
}
"""Running sums of products and rows, rounded after every 16 terms. Half-precision tensors are summed in float32 by
every honest kernel, so for them the type itself is too little."""


def lowered(declared: DType, *, tf32: bool = False) -> dict[str, str]:
    """Names of lowered precisions with the text to append to a reference.

    Args:
        declared: the most precise float type among a workload's tensors.
        tf32: the workload allows it, so it is no mutant.
    """
    found = {}
    for narrow in _NARROWER.get(declared, ()):
        shared = _SHARED % {"narrow": narrow}
        found[f"every result in {narrow}"] = shared + _RESULTS
        found[f"inputs read as {narrow}"] = shared + _INPUTS
    if kept := _SUM_TYPES.get(declared):
        found[f"sums kept in {kept}"] = _SHARED % {"narrow": kept} + _SUMS
    if declared in {DType.FLOAT32, DType.FLOAT64} and not tf32:
        found["matrix products in tf32"] = _SHARED % {"narrow": declared} + _TF32_PRODUCTS
    return found
