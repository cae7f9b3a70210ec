"""What a contender runs, as the judge describes it to the cell."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from search.records import Record, SourceFile

if TYPE_CHECKING:
    from gpuworker.verdicts import Exit

Adapter = Literal["native", "python", "reference", "replay", "custom_inputs"]
"""How a program's slots are called."""

Call = Callable[[], object]
"""Runs one slot; a true result is an error code."""


class Program(Record):
    """A program and the way its slots are called."""

    adapter: Adapter
    entry_point: str = "run"
    sources: tuple[SourceFile, ...] = ()
    """Empty for a native library and for a launch plan, which come as open files."""
    interpret: bool = False
    """Triton runs in its interpreter."""
    golden: bool = False
    """The reference computes in float64."""
    compiled: bool = False
    """The reference goes through `torch.compile`."""
    threads: int = 1
    device: int = -1
    """Number of the GPU that it runs on; -1 for a CPU."""
    clocked: bool = False
    """Answers passes with its own time on the device: only the baseline, whose author could as well make it slow."""
    cached: bool = False
    """The file that comes along is a compiler's cache, filled in a rehearsal."""
    axes: tuple[str, ...] = ()
    """Names of the axes whose sizes each slot has, for a program that is told them."""
    output_count: int
    input_count: int


class WrongOutputError(Exception):
    """A return-style program gave something else than the workload's outputs."""

    def __init__(self, exit_code: Exit, message: str) -> None:
        """Say which."""
        super().__init__(message)
        self.exit = exit_code
