"""`exact`: equal in every element; NaN equals NaN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from gpuworker.dtypes import TORCH_TYPES, readable

if TYPE_CHECKING:
    from gpuworker.comparators.question import Question


@dataclass(frozen=True)
class Exact:
    """A golden output in the declared type."""

    value: torch.Tensor
    finite: bool

    def is_right(self, output: torch.Tensor, share: float) -> bool:
        """No element differs; no share of nothing is allowed either."""
        if not output.is_floating_point():
            return torch.equal(output, self.value.reshape(output.shape))
        return not bool(self.wrong(output).any())

    def wrong(self, output: torch.Tensor) -> torch.Tensor:
        """Elements that differ."""
        value = self.value.reshape(output.shape)
        if not output.is_floating_point():
            return output != value
        return ~((output == value) | (output.isnan() & value.isnan()))


def expect(question: Question) -> Exact:
    """Keep a copy of the golden output."""
    golden = readable(question.golden.to(TORCH_TYPES[question.dtype], copy=True))
    finite = bool(golden.isfinite().all()) if golden.is_floating_point() else True
    return Exact(golden.reshape(golden.shape or (1,)), finite)
