"""Tensors as rows along their last axis, a piece at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch

_PIECE_ELEMENTS = {"cpu": 1 << 22, "cuda": 1 << 26}
"""By kind of device: what its caches or its memory take several times."""


def as_rows(value: torch.Tensor) -> torch.Tensor:
    """A view of shape (rows, last axis); a scalar is one row of one."""
    return value.reshape(-1, value.shape[-1]) if value.ndim and value.numel() else value.reshape(-1, 1)


def pieces(value: torch.Tensor) -> Iterator[slice]:
    """Slices over the rows of (rows, columns) that hold some millions of elements each; none where it is empty."""
    rows, columns = value.shape
    step = max(1, _PIECE_ELEMENTS[value.device.type] // max(columns, 1))
    for start in range(0, rows, step):
        yield slice(start, start + step)
