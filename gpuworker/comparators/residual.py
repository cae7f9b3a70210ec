"""`residual`: a solution X of A X = B counts by what it leaves over, since ill-conditioned systems have many good ones.

Allowed in an element of A X - B: scale · eps(type) · (|A| |X| + |B|), the componentwise backward error of Oettli and Prager
(Higham, Accuracy and Stability of Numerical Algorithms, theorem 7.3); on the whole ‖A X - B‖ ≤ frobenius · ‖|A| |X| + |B|‖.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from gpuworker.dtypes import TORCH_TYPES

if TYPE_CHECKING:
    from gpuworker.comparators.question import Question


@dataclass(frozen=True)
class Leftover:
    """The system that an output must solve."""

    value: torch.Tensor
    """A solution."""
    matrix: torch.Tensor
    """(..., M, N) as float64."""
    right: torch.Tensor
    """(..., M, K) as float64."""
    bound: float
    norm_bound: float
    finite: bool

    def is_right(self, output: torch.Tensor, share: float) -> bool:
        """What is left over is rounding, in each element and on the whole."""
        left, weight = self._left(output)
        if not bool(torch.all(left <= share * self.bound * weight)):
            return False
        norm = torch.linalg.vector_norm
        return float(norm(left)) <= share * self.norm_bound * float(norm(weight))

    def wrong(self, output: torch.Tensor) -> torch.Tensor:
        """Whole columns of X, because an element that is left over belongs to no single one of them."""
        left, weight = self._left(output)
        bad = ~(left <= self.bound * weight)
        return bad.any(-2, keepdim=True).expand(output.shape)

    def _left(self, output: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        solution = output.double()
        left = (self.matrix @ solution - self.right).abs_()
        return left, self.matrix.abs() @ solution.abs() + self.right.abs()


def expect(question: Question, matrix: str, right: str) -> Leftover:
    """Keep the system in float64."""
    dtype = TORCH_TYPES[question.dtype]
    value = question.golden.to(torch.float64 if dtype is torch.float64 else torch.float32, copy=True)
    return Leftover(
        value=value,
        matrix=question.inputs[matrix].double(),
        right=question.inputs[right].double(),
        bound=question.tolerance.scale * torch.finfo(dtype).eps,
        norm_bound=question.tolerance.frobenius,
        finite=bool(value.isfinite().all()),
    )
