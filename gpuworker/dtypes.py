"""Element types of workloads as torch types."""

from __future__ import annotations

import torch

from search.workload import DType

TORCH_TYPES: dict[DType, torch.dtype] = {dtype: getattr(torch, dtype.value) for dtype in DType}


def readable(value: torch.Tensor) -> torch.Tensor:
    """The same numbers in a type that torch can compare and test: floats of eight bits as float32."""
    return value.float() if value.is_floating_point() and value.element_size() == 1 else value
