"""Every named baseline, and what its program is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuworker.baselines import library

if TYPE_CHECKING:
    from collections.abc import Callable

    from search.workload import Workload


@dataclass(frozen=True)
class Baseline:
    """One way to compute a workload without a kernel of one's own."""

    title: str
    source: Callable[[Workload], str | None]
    """Of a program like a reference; None where there is none."""
    compiled: bool = False
    """Through `torch.compile`."""


def _reference(workload: Workload) -> str:
    return workload.reference


BASELINES: dict[str, Baseline] = {
    "eager": Baseline("torch eager", _reference),
    "compile": Baseline("torch.compile, max-autotune-no-cudagraphs", _reference, compiled=True),
    "library": Baseline("library call of torch", library.source),
}
