"""What a contender runs, as the judge describes it to the cell."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from search.records import Record, SourceFile

if TYPE_CHECKING:
    from gpuworker.verdicts import Exit

Call = Callable[[], object]
"""Runs one slot; a true result is an error code."""


class Program(Record):
    """A program and the way its slots are called."""

    adapter: Literal["native", "python", "reference"]
    entry_point: str = "run"
    sources: tuple[SourceFile, ...] = ()
    """Empty for a native library, which comes as an open file."""
    interpret: bool = False
    """Triton runs in its interpreter."""
    golden: bool = False
    """The reference computes in float64."""
    threads: int = 1
    output_count: int
    input_count: int


class WrongOutputError(Exception):
    """A return-style program gave something else than the workload's outputs."""

    def __init__(self, exit_code: Exit, message: str) -> None:
        """Say which."""
        super().__init__(message)
        self.exit = exit_code
