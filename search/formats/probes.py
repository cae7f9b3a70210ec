"""What reading a program could not tell: which line needs a probe, and what a probe found out.

A probe runs the program in a sandbox of a device worker, on the inputs that it makes for itself, and tells the
shapes, or where its time goes. Nothing here runs anything.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from search.formats.shapes.values import Array, Unread
from search.records import Record
from search.validation import Ending
from search.workload import DType, Size

ProbeTask = Literal["shapes", "profile"]
"""Shapes of every case, or the operators of the first by their time."""
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


class ProbeRequest(Record):
    """Asks a device worker to run one program. `id` and `token` come back with every message."""

    id: str
    token: str
    program: Probe
    task: ProbeTask
    device_class: str
    patience_s: Annotated[float, Field(gt=0)] = 120.0
    """A program that takes longer hangs."""


class ProbeAnswer(Record):
    """What became of it."""

    ending: Ending
    """`failed`: the program is at fault."""
    told: tuple[dict[str, JsonValue], ...] = ()
    """A `Probed` of each case, or a `search.formats.operators.Operator` of each operator; what a program says, so not to be believed."""
    message: str = ""
    """Why it ended otherwise; hostile text."""
    log: str = ""
    """The last that the program printed; hostile text."""
    device: str = ""
    seconds: Annotated[float, Field(ge=0)] = 0.0


def asked(error: Unread) -> str:
    """What a report says of a program that needs a probe."""
    place = "" if error.line is None else f"line {error.line}: "
    return f"{place}{error.problem}: this can only be known by running it"
