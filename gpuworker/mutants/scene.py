"""A specimen as a mutant sees it, and the judge's comparison as a number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from gpuworker.compare import is_right
from gpuworker.mutants.record import FEW_ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuworker.specimen import Specimen
    from gpuworker.yardstick import Yardstick

_LEAST, _MOST = -12.0, 40.0
"""Range of errors told apart, as powers of two of the allowed one."""
_STEPS = 12


@dataclass(frozen=True)
class Scene:
    """One specimen, its golden outputs in the declared types, and a specimen of the same case from another seed."""

    specimen: Specimen
    golden: list[torch.Tensor]
    other: Specimen
    other_golden: list[torch.Tensor]

    @property
    def few(self) -> bool:
        """Whether an output has so few elements that its rounding does not average out."""
        return min(golden.numel() for golden in self.golden) < FEW_ELEMENTS

    def precise(self) -> list[torch.Tensor]:
        """Golden outputs as precisely as the judge keeps them, in the outputs' shapes."""
        pairs = zip(self.specimen.expected, self.golden, strict=True)
        return [expected.value.reshape(golden.shape) for expected, golden in pairs]

    def differs(self, outputs: Sequence[torch.Tensor]) -> bool:
        """Whether any element is not the golden one."""
        return not all(_same(one, golden) for one, golden in zip(outputs, self.golden, strict=True))

    def accepts(self, outputs: Sequence[torch.Tensor], share: float = 1.0) -> bool:
        """The judge's verdict, with only this share of the allowed errors."""
        pairs = zip(outputs, self.specimen.expected, strict=True)
        return all(is_right(output, expected, share) for output, expected in pairs)

    def error(self, outputs: Sequence[torch.Tensor]) -> float | None:
        """Smallest share of the allowed errors that accepts these outputs; None where none does.

        Found by halving the exponent, so that it needs nothing of a comparator but its verdict; good to one percent.
        """
        low, high = _LEAST, _MOST
        if not self.accepts(outputs, 2.0**high):
            return None
        for _ in range(_STEPS):
            middle = (low + high) / 2
            if self.accepts(outputs, 2.0**middle):
                high = middle
            else:
                low = middle
        return float(f"{2.0**high:.2g}")


def scenes(stick: Yardstick) -> list[Scene]:
    """Every specimen that a candidate of this workload is checked with, smallest case first."""
    found = []
    for case in sorted(stick.checks, key=lambda name: _elements(stick.checks[name][0])):
        specimens = stick.checks[case]
        goldens = [_golden(stick, one) for one in specimens]
        for number, specimen in enumerate(specimens):
            # The first ones hold declared values, each of its own seed.
            other = 1 if number == 0 else 0
            found.append(Scene(specimen, goldens[number], specimens[other], goldens[other]))
    return found


def _golden(stick: Yardstick, specimen: Specimen) -> list[torch.Tensor]:
    arena = stick.baseline.arena
    slot = stick.baseline.layout.of_case(specimen.case)[0]
    pairs = zip(arena.outputs(slot), specimen.expected, strict=True)
    return [expected.value.to(view.dtype).reshape(view.shape).clone() for view, expected in pairs]


def _elements(specimen: Specimen) -> int:
    return sum(math.prod(value.shape) for value in specimen.inputs)


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.is_floating_point():
        return bool(((one == other) | (one.isnan() & other.isnan())).all())
    return torch.equal(one, other)
