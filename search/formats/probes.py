"""What reading a program could not tell: which line needs a probe, and what a probe found out.

A probe runs the program in a sandbox of a device worker, on the inputs that it makes for itself, and tells the
shapes. Nothing here runs anything.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from search.formats.shapes.values import Array, Unread
from search.records import Record
from search.workload import DType, Size

_MOST_DIMENSIONS = 16


class Probe(Record):
    """A program that has to be run once before it can become a workload."""

    format: str
    """Name of the format, whose `finish` takes what the probe found."""
    name: str
    where: str
    """File that the program came from."""
    line: int | None
    """1-based line that could not be read."""
    problem: str
    """What could not be read there."""
    files: dict[str, str]
    """The program with the files beside it, by name."""


class Seen(Record):
    """A tensor that a probe saw, or a number."""

    shape: Annotated[tuple[Size, ...], Field(max_length=_MOST_DIMENSIONS)] = ()
    dtype: DType = DType.FLOAT32
    value: int | float | bool | None = None
    """Of a number; None for a tensor."""

    def read(self) -> object:
        """As if it had been read from the text."""
        return Array(self.shape, self.dtype) if self.value is None else self.value


class Probed(Record):
    """What one case of a program was seen to take and to make."""

    inputs: dict[str, Seen]
    """By name, in order."""
    weights: dict[str, Seen] = {}
    """By dotted path, in the order of `named_parameters`."""
    outputs: Annotated[tuple[Seen, ...], Field(min_length=1)]


def asked(error: Unread) -> str:
    """What a report says of a program that needs a probe."""
    place = "" if error.line is None else f"line {error.line}: "
    return f"{place}{error.problem}: this can only be known by running it"
