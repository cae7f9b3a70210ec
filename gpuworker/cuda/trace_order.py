"""What the judge asks of a tracing cell."""

from __future__ import annotations

from gpuworker.cuda.device_facts import GhostDevice
from gpuworker.program import Program
from search.records import Record
from search.workload import DType


class TracedTensor(Record):
    """An input or output of one case."""

    dtype: DType
    shape: tuple[int, ...]
    value: bool | int | float | None = None
    """Of a scalar, which Python programs get as a number."""


class TracedCase(Record):
    """The arguments of one call."""

    case: str
    arguments: tuple[TracedTensor, ...]


class TraceOrder(Record):
    """What the judge asks for."""

    program: Program
    cases: tuple[TracedCase, ...]
    device: GhostDevice
