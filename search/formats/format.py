"""What a foreign format is: a reader and a writer of named files that report what they could not keep."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from search.records import Record

if TYPE_CHECKING:
    from search.formats.probes import Probe
    from search.formats.schema import Solution, Trace
    from search.workload import Workload

Files = Mapping[str, bytes]
"""Content by relative path with forward slashes: a folder, an archive or an upload."""


class FormatError(ValueError):
    """Something cannot be read or written; says in which file, line and field where these are known."""

    def __init__(self, problem: str, source: str = "", line: int | None = None, field: str = "") -> None:
        """Put the place in front of the problem."""
        place = source if line is None else f"{source}:{line}"
        super().__init__(": ".join(part for part in (place, field, problem) if part))
        self.problem = problem
        self.source = source
        self.line = line
        self.field = field


def add_file(files: dict[str, bytes], path: str, content: bytes) -> None:
    """Put a file among those to be written.

    Raises:
        FormatError: two things would be written to one path.
    """
    if path in files:
        raise FormatError("two names become this file; rename one", path)
    files[path] = content


class Remark(Record):
    """One line of a report."""

    where: str
    """File, with line, or the name of the thing."""
    text: str
    line: int | None = None
    whole: bool = False
    """A whole item is meant, not a part of one."""


class Report(Record):
    """What became of what was there."""

    taken: tuple[Remark, ...] = ()
    changed: tuple[Remark, ...] = ()
    """Taken, but not word for word."""
    dropped: tuple[Remark, ...] = ()
    """Left out, with the reason."""
    asked: tuple[Remark, ...] = ()
    """Not known before the program has been run once in a sandbox."""


@dataclass
class Notes:
    """A report in the making."""

    taken: list[Remark] = field(default_factory=list)
    changed: list[Remark] = field(default_factory=list)
    dropped: list[Remark] = field(default_factory=list)
    asked: list[Remark] = field(default_factory=list)

    def take(self, where: str, text: str) -> None:
        """Note what was taken."""
        self.taken.append(Remark(where=where, text=text))

    def change(self, where: str, text: str) -> None:
        """Note what is not word for word."""
        self.changed.append(Remark(where=where, text=text))

    def drop(self, where: str, text: str) -> None:
        """Note what was left out and why."""
        self.dropped.append(Remark(where=where, text=text))

    def refuse(self, where: str, error: FormatError) -> None:
        """Note an item that was left out, and why."""
        self.dropped.append(Remark(where=where, text=str(error), line=error.line, whole=True))

    def ask(self, where: str, text: str) -> None:
        """Note what needs a probe."""
        self.asked.append(Remark(where=where, text=text))

    def add(self, other: Notes) -> None:
        """Take over another's lines."""
        self.taken += other.taken
        self.changed += other.changed
        self.dropped += other.dropped
        self.asked += other.asked

    def report(self) -> Report:
        """The finished report."""
        return Report(
            taken=tuple(self.taken),
            changed=tuple(self.changed),
            dropped=tuple(self.dropped),
            asked=tuple(self.asked),
        )


@dataclass(frozen=True)
class Collection:
    """What a set of files holds, in our records."""

    workloads: tuple[Workload, ...] = ()
    solutions: tuple[Solution, ...] = ()
    """Programs as their format describes them; `candidate_of` of the format makes candidates of them."""
    traces: tuple[Trace, ...] = ()
    """Results from elsewhere. They were taken on another clock, so they never become evaluations of ours."""
    probes: tuple[Probe, ...] = ()
    """Programs that have to be run once before they can become workloads."""
    programs: tuple[Probe, ...] = ()
    """Programs whose operators a run would rank, whether or not their text told all shapes."""


@dataclass(frozen=True)
class Format:
    """One foreign format."""

    name: str
    title: str
    recognises: Callable[[Files], bool]
    """Whether the paths look like this format's."""
    parse: Callable[[Files], tuple[Collection, Report]]
    """Takes what it can, item by item: a workload with all its cases, a program, a result.

    Raises FormatError when there is nothing to take, with the first reason.
    """
    write: Callable[[Collection], tuple[dict[str, bytes], Report]]
    """Raises FormatError for what the format cannot say and must not lose."""
