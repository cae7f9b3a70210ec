"""`topk_set`: places of the largest elements of each row, where places of equal elements are as good as each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from gpuworker.comparators.question import Question


@dataclass(frozen=True)
class Places:
    """The elements that must be found, and where to look."""

    value: torch.Tensor
    """Golden places."""
    searched: torch.Tensor
    """The input, (..., N)."""
    best: torch.Tensor
    """The elements at the golden places, (..., k); each row in descending order unless order counts."""
    ordered: bool
    finite: bool = True

    def is_right(self, output: torch.Tensor, share: float) -> bool:
        """k different places of each row that hold the right elements, in order where that is asked."""
        return not bool(self.wrong(output).any())

    def wrong(self, output: torch.Tensor) -> torch.Tensor:
        """Places outside the row, named twice, or of another element than is due."""
        places = output.long()
        outside = (places < 0) | (places >= self.searched.shape[-1])
        found = self.searched.gather(-1, places.masked_fill(outside, 0))
        return outside | _repeated(places) | self._of_others(found)

    def _of_others(self, found: torch.Tensor) -> torch.Tensor:
        if self.ordered:
            return found != self.best
        values, order = found.sort(-1, descending=True)
        return torch.zeros_like(found, dtype=torch.bool).scatter_(-1, order, values != self.best)


def _repeated(places: torch.Tensor) -> torch.Tensor:
    """All but the first of equal places in a row."""
    values, order = places.sort(dim=-1, stable=True)
    again = torch.zeros_like(values, dtype=torch.bool)
    again[..., 1:] = values[..., 1:] == values[..., :-1]
    return torch.zeros_like(again).scatter_(-1, order, again)


def expect(question: Question, of: str, *, ordered: bool) -> Places:
    """Look up the elements at the golden places."""
    searched = question.inputs[of]
    places = question.golden.long()
    if not searched.shape[-1]:
        # Nothing can be chosen, so there are no places either.
        return Places(question.golden.clone(), searched, searched, ordered)
    best = searched.gather(-1, places)
    return Places(
        value=question.golden.clone(),
        searched=searched,
        best=best if ordered else best.sort(-1, descending=True).values,
        ordered=ordered,
    )
