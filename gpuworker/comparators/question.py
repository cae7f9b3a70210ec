"""What a comparator is asked, and what it must be able to say afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

    from search.workload import CaseTolerance, Comparator, DType, Tolerance


@dataclass(frozen=True)
class Question:
    """A golden output with all that its workload says of it."""

    golden: torch.Tensor
    """float64 where the output is a float, else in the output's type; read at once, since its memory is used again."""
    dtype: DType
    tolerance: Tolerance
    foreign: CaseTolerance | None = None
    """Counts instead of `tolerance`."""
    comparator: Comparator | None = None
    inputs: Mapping[str, torch.Tensor] = field(default_factory=dict)


class Expected(Protocol):
    """One golden output with its bounds."""

    @property
    def value(self) -> torch.Tensor:
        """A right output: float32 where the output is a shorter float, else in its own type; scalars have one axis."""
        ...

    @property
    def finite(self) -> bool:
        """Neither NaN nor infinity is in it."""
        ...

    def is_right(self, output: torch.Tensor, share: float) -> bool:
        """The whole rule, with this share of the allowed errors."""
        ...

    def wrong(self, output: torch.Tensor) -> torch.Tensor:
        """Mask of the elements to blame, in the output's shape; may be empty where only the whole is wrong."""
        ...
