"""Element types of workloads as torch types."""

from __future__ import annotations

import torch

from search.workload import DType

TORCH_TYPES: dict[DType, torch.dtype] = {dtype: getattr(torch, dtype.value) for dtype in DType}
