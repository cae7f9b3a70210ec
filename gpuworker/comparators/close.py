"""`close`: a bound per element, a bound on the whole, exact patterns of NaN and infinity.

Allowed error of an element: scale · eps(type) · RMS of its row + relative · |golden|; on the whole
‖out - golden‖ ≤ frobenius · ‖golden‖, both over the elements that are finite in the golden output. Rows of fewer than
`NARROW` elements have the RMS of as many neighbours as make that number: a sum that happens to be near 0 says nothing of
the numbers it was made from, and where it stands alone in its row float32 would be refused.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from gpuworker.comparators.rows import as_rows, pieces
from gpuworker.dtypes import TORCH_TYPES

if TYPE_CHECKING:
    from gpuworker.comparators.question import Question

NARROW = 32


@dataclass(frozen=True)
class Close:
    """Bounds around a golden output."""

    value: torch.Tensor
    row_bound: torch.Tensor
    """(rows, 1)."""
    relative: float
    norm_bound: float
    finite: bool

    def is_right(self, output: torch.Tensor, share: float) -> bool:
        """Every element within its bound, and all of them together."""
        value, got = as_rows(self.value), as_rows(output)
        good = torch.ones((), dtype=torch.bool, device=got.device)
        norms = []
        for piece in pieces(value):
            difference = self._difference(got[piece], value[piece])
            # A NaN compares false, so it fails here.
            good &= torch.all(difference <= self._allowed(value[piece], piece, share))
            norms.append(torch.linalg.vector_norm(difference))
        if not norms:
            return True
        return bool(good) and float(torch.linalg.vector_norm(torch.stack(norms))) <= share * self.norm_bound

    def wrong(self, output: torch.Tensor) -> torch.Tensor:
        """Elements beyond their own bound."""
        value, got = as_rows(self.value), as_rows(output)
        parts = [
            ~(self._difference(got[piece], value[piece]) <= self._allowed(value[piece], piece, 1.0))
            for piece in pieces(value)
        ]
        return torch.cat(parts).reshape(output.shape)

    def errors(self, output: torch.Tensor) -> dict[str, float]:
        """Of a right output: `max_abs`, `max_rel` over elements that are not 0, and `used`, at most 1.

        `used` is the largest share of what is allowed that an element took, or all of them together.
        """
        value, got = as_rows(self.value), as_rows(output)
        largest = {"max_abs": 0.0, "max_rel": 0.0, "used": 0.0}
        squares = 0.0
        for piece in pieces(value):
            difference = self._difference(got[piece], value[piece])
            ratios = {
                "max_abs": difference,
                "max_rel": _ratio(difference, torch.where(value[piece].isfinite(), value[piece].abs(), 0.0)),
                "used": _ratio(difference, self._allowed(value[piece], piece, 1.0)),
            }
            for name, ratio in ratios.items():
                largest[name] = max(largest[name], float(ratio.max()))
            squares += float(torch.linalg.vector_norm(difference)) ** 2
        if self.norm_bound:
            largest["used"] = max(largest["used"], math.sqrt(squares) / self.norm_bound)
        return largest

    def _difference(self, got: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        """Absolute errors; where the golden value is not finite, 0 for the same and infinity for anything else."""
        got = got.to(value.dtype)
        difference = (got - value).abs_()
        if self.finite:
            return difference
        same = (got == value) | (got.isnan() & value.isnan())
        return torch.where(value.isfinite(), difference, torch.where(same, 0.0, math.inf))

    def _allowed(self, value: torch.Tensor, piece: slice, share: float) -> torch.Tensor:
        allowed = value.abs().mul_(self.relative).add_(self.row_bound[piece])
        if share != 1.0:
            allowed.mul_(share)
        return allowed if self.finite else torch.where(value.isfinite(), allowed, 0.0)


def _ratio(error: torch.Tensor, of: torch.Tensor) -> torch.Tensor:
    """Shares; 0 where there is nothing to be a share of."""
    return torch.where(of > 0, error / of, 0.0)


def expect(question: Question) -> Close:
    """Read the bounds off a golden output."""
    tolerance = question.tolerance
    golden = as_rows(question.golden)
    kept = torch.float64 if question.dtype == "float64" else torch.float32
    means = torch.empty((len(golden), 1), dtype=torch.float64, device=golden.device)
    total = torch.zeros((), dtype=torch.float64, device=golden.device)
    finite = torch.ones((), dtype=torch.bool, device=golden.device)
    eps = torch.finfo(TORCH_TYPES[question.dtype]).eps
    for piece in pieces(golden):
        usable = golden[piece].isfinite()
        # An infinite element must not widen the bound of its neighbours.
        squares = torch.where(usable, golden[piece], 0.0).double().square_()
        means[piece] = squares.mean(-1, keepdim=True)
        total += squares.sum()
        finite &= usable.all()
    return Close(
        value=question.golden.to(kept, copy=True).reshape(question.golden.shape or (1,)),
        row_bound=(tolerance.scale * eps * _shared(means, golden.shape[-1]).sqrt()).to(kept),
        relative=tolerance.relative,
        norm_bound=tolerance.frobenius * math.sqrt(float(total)),
        finite=bool(finite),
    )


def _shared(means: torch.Tensor, columns: int) -> torch.Tensor:
    """Mean squares of rows (rows, 1), those of short rows averaged over groups of neighbours."""
    rows = len(means)
    groups = max(1, rows * columns // NARROW)
    if groups >= rows:
        return means
    group = torch.arange(rows, device=means.device) * groups // rows
    sums = torch.zeros((groups, 1), dtype=means.dtype, device=means.device).index_add_(0, group, means)
    return (sums / torch.bincount(group).unsqueeze(1))[group]
