"""Whether an output is right, by the comparator of its workload; `comparators/` holds the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuworker.comparators import registry
from gpuworker.comparators.question import Expected, Question
from gpuworker.dtypes import readable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from search.workload import Case, DType, Tolerance, Workload

__all__ = ["Expected", "expect", "expect_all", "is_right", "wrong_elements"]


def expect(golden: torch.Tensor, dtype: DType, tolerance: Tolerance) -> Expected:
    """Bounds around one golden output that has no comparator of its own."""
    return registry.expect(Question(golden, dtype, tolerance))


def expect_all(
    workload: Workload, case: Case, inputs: Sequence[torch.Tensor], goldens: Sequence[torch.Tensor]
) -> list[Expected]:
    """Bounds around every golden output of one call.

    Args:
        workload: names the comparators.
        case: may bring a tolerance of its own.
        inputs: of the call, in the workload's order; some comparators keep them.
        goldens: float64 where the output is a float, else in its type; copied.
    """
    given = dict(zip(workload.inputs, inputs, strict=True))
    return [
        registry.expect(
            Question(
                golden,
                tensor.dtype,
                tensor.tolerance or workload.tolerance,
                case.tolerance,
                tensor.comparator,
                given,
            )
        )
        for golden, tensor in zip(goldens, workload.outputs.values(), strict=True)
    ]


def is_right(output: torch.Tensor, expected: Expected, share: float = 1.0) -> bool:
    """The whole rule, or with only this share of the allowed errors."""
    return expected.is_right(readable(output), share)


def wrong_elements(output: torch.Tensor, expected: Expected) -> torch.Tensor:
    """Mask of the elements that are wrong by themselves, in the output's shape."""
    return expected.wrong(readable(output))
