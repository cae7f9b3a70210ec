"""Mutants made of golden outputs: what a kernel leaves that works little, elsewhere, or nearly right.

Each takes one golden output and the same output of another seed and gives the spoiled one, or None where the
shape has no room for the mistake. The other outputs of a workload stay golden, so each is tried alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    Spoil = Callable[[torch.Tensor, torch.Tensor], torch.Tensor | None]

_TILE = 32


def _mean(golden: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    finite = golden[golden.isfinite()].double()
    return torch.full_like(golden, float(finite.mean()) if finite.numel() else 0.0)


def _constant(golden: torch.Tensor, other: torch.Tensor) -> torch.Tensor | None:
    return golden.flatten()[0].expand(golden.shape).clone() if golden.numel() else None


def _scaled(factor: float) -> Spoil:
    def spoil(golden: torch.Tensor, other: torch.Tensor) -> torch.Tensor | None:
        return (golden.double() * factor).to(golden.dtype) if golden.is_floating_point() else None

    return spoil


def _transposed(golden: torch.Tensor, other: torch.Tensor) -> torch.Tensor | None:
    """Written in the other order of the last two axes."""
    if golden.ndim < 2:
        return None
    return golden.transpose(-1, -2).contiguous().reshape(golden.shape)


def _shifted(axis: int) -> Spoil:
    """Off by one along an axis, counted from the last."""

    def spoil(golden: torch.Tensor, other: torch.Tensor) -> torch.Tensor | None:
        return golden.roll(1, axis) if golden.ndim >= -axis else None

    return spoil


def _last_tile_zero(axis: int) -> Spoil:
    """A loop that leaves out the last, often ragged, tile. Zeros, since poison would show at once."""

    def spoil(golden: torch.Tensor, other: torch.Tensor) -> torch.Tensor | None:
        if golden.ndim < -axis or golden.shape[axis] == 0:
            return None
        size = golden.shape[axis]
        spoiled = golden.clone()
        tail = (size - 1) // _TILE * _TILE if size > _TILE else size - 1
        spoiled.narrow(axis, tail, size - tail).zero_()
        return spoiled

    return spoil


def _one_row_garbage(golden: torch.Tensor, other: torch.Tensor) -> torch.Tensor | None:
    """One row in the middle, or one element of a vector, of another seed: the most plausible garbage."""
    if golden.ndim == 0 or golden.numel() == 0:
        return None
    rows = golden.clone().reshape(-1, golden.shape[-1] if golden.ndim > 1 else 1)
    rows[rows.shape[0] // 2] = other.reshape(rows.shape)[rows.shape[0] // 2]
    return rows.reshape(golden.shape)


def _one_element_zero(golden: torch.Tensor, other: torch.Tensor) -> torch.Tensor | None:
    """The element of middle size among all."""
    if golden.numel() == 0:
        return None
    flat = golden.flatten().clone()
    sizes = flat.double().abs().nan_to_num(0.0, 0.0, 0.0)
    flat[int(sizes.argsort()[len(flat) // 2])] = 0
    return flat.reshape(golden.shape)


def _half_of_the_rows(golden: torch.Tensor, other: torch.Tensor) -> torch.Tensor | None:
    """Every second row zero: a grid with half the programs it needs."""
    if golden.ndim == 0 or golden.shape[0] < 2:
        return None
    spoiled = golden.clone()
    spoiled[1::2] = 0
    return spoiled


VALUES: dict[str, Spoil] = {
    "zeros": lambda golden, other: torch.zeros_like(golden),
    "ones": lambda golden, other: torch.ones_like(golden),
    "mean everywhere": _mean,
    "first element everywhere": _constant,
    "another seed's output": lambda golden, other: other,
    "1 % too large": _scaled(1.01),
    "1 % too small": _scaled(0.99),
}

PLACES: dict[str, Spoil] = {
    "transposed": _transposed,
    "off by one along the last axis": _shifted(-1),
    "off by one along the last axis but one": _shifted(-2),
    "last tile of the last axis zero": _last_tile_zero(-1),
    "last tile of the last axis but one zero": _last_tile_zero(-2),
    "every second row zero": _half_of_the_rows,
    "one row of another seed": _one_row_garbage,
    "one element zero": _one_element_zero,
}
