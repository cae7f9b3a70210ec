"""Whether an output is right: a bound per element, a bound on the whole, exact patterns of NaN and infinity.

Allowed error of an element: scale · eps(type) · RMS of its row + relative · |golden|; on the whole
‖out - golden‖ ≤ frobenius · ‖golden‖. Integers and booleans must be equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from gpuworker.devices.cpu import TORCH_TYPES

if TYPE_CHECKING:
    from search.workload import DType, Tolerance


@dataclass(frozen=True)
class Expected:
    """One golden output with its bounds; `value` is float32 unless the output itself is float64."""

    value: torch.Tensor
    row_bound: torch.Tensor
    """Shape of `value` with its last axis 1."""
    relative: float
    norm_bound: float
    finite: bool


def expect(golden: torch.Tensor, dtype: DType, tolerance: Tolerance) -> Expected:
    """Bounds around a golden output, which the oracle gave in float64 where the type is a float."""
    if not dtype.is_float:
        return Expected(golden.clone(), torch.empty(0), 0.0, 0.0, finite=True)
    rows = golden if golden.ndim else golden.reshape(1)
    # An infinite element must not widen the bound of its neighbours.
    squares = torch.where(rows.isfinite(), rows, 0.0).square()
    row_rms = squares.mean(-1, keepdim=True).sqrt()
    eps = torch.finfo(TORCH_TYPES[dtype]).eps
    kept = torch.float64 if dtype == "float64" else torch.float32
    return Expected(
        value=rows.to(kept),
        row_bound=(tolerance.scale * eps * row_rms).to(kept),
        relative=tolerance.relative,
        norm_bound=tolerance.frobenius * float(squares.sum().sqrt()),
        finite=bool(rows.isfinite().all()),
    )


def is_right(output: torch.Tensor, expected: Expected, share: float = 1.0) -> bool:
    """The whole rule, or with only this share of the allowed errors.

    Fast where everything is finite, which is what timed passes hold.
    """
    if not output.is_floating_point():
        return torch.equal(output, expected.value)
    got = output.reshape(expected.value.shape).to(expected.value.dtype)
    if not expected.finite:
        return _is_right_beside_infinities(got, expected)
    difference = (got - expected.value).abs_()
    bound = expected.value.abs().mul_(expected.relative).add_(expected.row_bound)
    if share != 1.0:
        bound.mul_(share)
    # A NaN compares false, so it fails here.
    if not bool(torch.all(difference <= bound)):
        return False
    return float(torch.linalg.vector_norm(difference)) <= share * expected.norm_bound


def _is_right_beside_infinities(got: torch.Tensor, expected: Expected) -> bool:
    finite = expected.value.isfinite()
    if not torch.equal(got.isnan(), expected.value.isnan()):
        return False
    infinite = expected.value.isinf()
    if not torch.equal(got[infinite], expected.value[infinite]):
        return False
    difference = torch.where(finite, got - expected.value, 0.0).abs()
    bound = torch.where(finite, expected.value.abs() * expected.relative + expected.row_bound, 0.0)
    return bool(torch.all(difference <= bound))


def wrong_elements(output: torch.Tensor, expected: Expected) -> torch.Tensor:
    """Mask of the elements that break the element-wise rule, in the output's shape."""
    if not output.is_floating_point():
        return output != expected.value
    got = output.reshape(expected.value.shape).to(expected.value.dtype)
    same = (got == expected.value) | (got.isnan() & expected.value.isnan())
    bound = expected.value.abs() * expected.relative + expected.row_bound
    close = (got - expected.value).abs() <= torch.where(bound.isfinite(), bound, 0.0)
    return ~(same | close).reshape(output.shape)
