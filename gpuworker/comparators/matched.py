"""The rule of SOL-ExecBench, for cases that bring a tolerance of their own.

An element matches where |out - golden| ≤ max_atol + max_rtol · |golden|, enough of them must, and none may be further off
than the cap. NaN and infinity match nothing, but for -inf in both places where the case allows it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from gpuworker.comparators.rows import as_rows, pieces

if TYPE_CHECKING:
    from gpuworker.comparators.question import Question
    from search.workload import CaseTolerance


@dataclass(frozen=True)
class Matched:
    """A golden output and what its case allows."""

    value: torch.Tensor
    allowed: CaseTolerance
    finite: bool

    def is_right(self, output: torch.Tensor, share: float) -> bool:
        """Enough elements match and no error is beyond the cap."""
        value, got = as_rows(self.value), as_rows(output)
        matching = torch.zeros((), dtype=torch.int64, device=got.device)
        bearable = torch.ones((), dtype=torch.bool, device=got.device)
        cap = math.inf if self.allowed.max_error_cap is None else share * self.allowed.max_error_cap
        for piece in pieces(value):
            difference = self._difference(got[piece], value[piece])
            matching += (difference <= self._bound(value[piece], share)).sum()
            bearable &= torch.all(difference.isfinite() & (difference <= cap))
        return bool(bearable) and int(matching) >= self.allowed.required_matched_ratio * output.numel()

    def wrong(self, output: torch.Tensor) -> torch.Tensor:
        """Elements that do not match."""
        value, got = as_rows(self.value), as_rows(output)
        parts = [
            ~(self._difference(got[piece], value[piece]) <= self._bound(value[piece], 1.0))
            for piece in pieces(value)
        ]
        return torch.cat(parts).reshape(output.shape)

    def _difference(self, got: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        """Absolute errors, NaN or infinite where nothing matches."""
        got = got.to(value.dtype)
        difference = (got - value).abs_()
        if self.allowed.allow_negative_inf:
            difference.masked_fill_(got.isneginf() & value.isneginf(), 0.0)
        return difference

    def _bound(self, value: torch.Tensor, share: float) -> torch.Tensor:
        bound = value.abs().mul_(self.allowed.max_rtol).add_(self.allowed.max_atol)
        # Beside an infinite value any bound is infinite or NaN, and only an error of 0 may match.
        return bound.mul_(share).nan_to_num_(nan=0.0, posinf=0.0)


def expect(question: Question, allowed: CaseTolerance) -> Matched:
    """Keep a copy of the golden output."""
    kept = torch.float64 if question.dtype == "float64" else torch.float32
    value = question.golden.to(kept, copy=True).reshape(question.golden.shape or (1,))
    return Matched(value, allowed, bool(value.isfinite().all()))
