"""Everything that can become public. What has no field here cannot reach a guest: page, JSON and pictures read only this."""

from __future__ import annotations

from dataclasses import dataclass

from search.records import Record

TEXT_LIMIT = 20_000
"""Longest text of one message of a transcript, in characters."""


@dataclass(frozen=True)
class Scope:
    """What of a thing is shared besides its results."""

    tree: bool = True
    code: bool = False
    transcript: bool = False


class Workload(Record):
    """What had to be computed, in short: no reference code, no hidden case, no description."""

    title: str
    version: int
    family: str = ""
    inputs: tuple[str, ...] = ()
    """E.g. `x: float32 [M, N]`."""
    outputs: tuple[str, ...] = ()
    tolerance: str = ""


class Headline(Record):
    """The best result with its spread."""

    speedup: float
    low: float | None = None
    high: float | None = None
    """95 % interval of the measurement."""
    median_us: float | None = None
    baseline: str = ""
    is_confirmed: bool = False
    cases: int = 0
    samples: int = 0
    """Timed pairs over all cases."""


class Line(Record):
    """Best so far, as records against charged evaluations."""

    name: str
    hue: int
    records: tuple[tuple[float, float], ...]
    """(evaluation, speed-up) of every record."""
    end: float
    """Evaluations spent."""
    is_thin: bool = False
    """One seed of several."""


class Bar(Record):
    """One group in one case."""

    name: str
    hue: int
    speedup: float | None = None
    low: float | None = None
    high: float | None = None
    median_us: float | None = None
    baseline_us: float | None = None


class CaseRow(Record):
    """A case that is not hidden."""

    name: str
    sizes: str
    """E.g. `M=4096 N=1024`."""
    bars: tuple[Bar, ...]


class Group(Record):
    """One arm of a comparison."""

    name: str
    hue: int
    seeds: int
    evaluations: int
    passed: int
    structures: int
    best: Headline | None = None


class Branch(Record):
    """A structure in the tree."""

    depth: int
    name: str
    speedup: float | None = None
    evaluations: int = 0
    is_retained: bool = False
    is_best: bool = False


class Source(Record):
    """A file of the best candidate."""

    path: str
    language: str
    content: str


class Message(Record):
    """One text of a conversation with a model, secrets masked."""

    role: str
    content: str


class Call(Record):
    """A question to a model with its answer."""

    role: str
    messages: tuple[Message, ...]


class Fact(Record):
    """One line of the method box."""

    name: str
    value: str


class Counts(Record):
    """How much was tried."""

    searches: int = 1
    evaluations: int = 0
    passed: int = 0
    failed: int = 0
    structures: int = 0


class Result(Record):
    """What a guest sees. `taken_at` is left out of the revision: the same numbers an hour later are the same."""

    kind: str
    title: str
    taken_at: str
    """ISO 8601."""
    began: str = ""
    """Day on which the first search began, ISO 8601."""
    ended: str = ""
    """Day on which the last one ended; empty while one runs."""
    is_over: bool = False
    device: str = ""
    language: str = ""
    workload: Workload
    headline: Headline | None = None
    counts: Counts = Counts()
    groups: tuple[Group, ...] = ()
    lines: tuple[Line, ...] = ()
    axis: str = "evaluations"
    cases: tuple[CaseRow, ...] = ()
    tree: tuple[Branch, ...] = ()
    code: tuple[Source, ...] = ()
    knobs: dict[str, str] = {}
    """Of the best candidate, with the code only."""
    transcript: tuple[Call, ...] = ()
    transcript_left_out: int = 0
    """Earlier calls that were not taken along."""
    method: tuple[Fact, ...] = ()
