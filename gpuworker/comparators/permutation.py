"""`permutation`: the elements of each row in any order, each within its bound."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuworker.comparators.question import Expected, Question


@dataclass(frozen=True)
class Permutation:
    """The golden rows, sorted."""

    ordered: Expected
    value: torch.Tensor
    finite: bool

    def is_right(self, output: torch.Tensor, share: float) -> bool:
        """The sorted rows are right."""
        return self.ordered.is_right(output.sort(-1).values, share)

    def wrong(self, output: torch.Tensor) -> torch.Tensor:
        """Elements that are wrong at their place among the sorted ones."""
        values, places = output.sort(-1)
        return torch.zeros_like(output, dtype=torch.bool).scatter_(-1, places, self.ordered.wrong(values))


def expect(question: Question, elementwise: Callable[[Question], Expected]) -> Permutation:
    """Sort the golden rows and let another comparator look at them."""
    ordered = elementwise(replace(question, golden=question.golden.sort(-1).values))
    return Permutation(ordered, ordered.value, ordered.finite)
