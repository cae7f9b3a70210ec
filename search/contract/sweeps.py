"""Walks over one axis inside a program: how often, reading what, folding what.

A sweep is a sequential loop over the axis that lies in no other such loop, or a block that covers the axis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from search.contract.facts import Branch, Event, EventKind, Gap, Loop, Node, Role, events

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True)
class Sweep:
    """One walk over the axis."""

    line: int
    reads: frozenset[str]
    writes: frozenset[str]
    folds: frozenset[str]
    """Kinds of folds that are carried along the axis."""
    maximum: bool
    """A maximum is formed somewhere in it."""
    exp: bool
    stored: bool = False
    """Its result is kept in a local array."""
    merging: bool = False
    """A sum that is carried along is updated with the help of another one, as a mean is by Welford."""

    @property
    def text(self) -> str:
        """For people, e.g. `line 41: reads input:x, folds sum, exponential`."""
        parts = [f"{word} {', '.join(sorted(names))}" for word, names in self._named() if names]
        parts += ["exponential"] if self.exp else []
        return f"line {self.line}: {'; '.join(parts) or 'nothing'}"

    def _named(self) -> list[tuple[str, frozenset[str]]]:
        return [("reads", self.reads), ("folds", self.folds), ("writes", self.writes)]


@dataclass(frozen=True)
class Walked:
    """Sweeps in program order, and what could not be told."""

    sweeps: tuple[Sweep, ...] = ()
    gaps: tuple[Gap, ...] = ()


def sweeps(nodes: Iterable[Node], axis: str) -> Walked:
    """Every sweep over an axis."""
    found: list[Sweep] = []
    unclear: list[Gap] = []
    for node in nodes:
        match node:
            case Loop(role=Role.SEQUENTIAL, axes=axes) if axis in axes:
                merged = node.continues and found
                found = (
                    [*found[:-1], _merge(found[-1], _of_loop(node))] if merged else [*found, _of_loop(node)]
                )
            case Loop():
                inner = sweeps(node.body, axis)
                found += inner.sweeps
                unclear += inner.gaps
            case Branch():
                inner = _of_branch(node, axis)
                found += inner.sweeps
                unclear += inner.gaps
            case Event(kind=EventKind.READ, span=span) if axis in span:
                found.append(_of_block(node))
    return Walked(tuple(found), tuple(unclear))


def _of_loop(loop: Loop) -> Sweep:
    inside = list(events(loop.body))
    folds = [event for event in inside if event.kind is EventKind.FOLD]
    carried = [event for event in folds if event.level <= loop.depth and loop.variable not in event.index]
    return Sweep(
        line=loop.line,
        reads=_places(inside, EventKind.READ),
        writes=_places(inside, EventKind.WRITE),
        folds=frozenset(event.what for event in carried),
        maximum=any(event.what == "max" for event in folds),
        exp=any(event.kind is EventKind.EXP for event in inside),
        stored=any(event.kind is EventKind.WRITE and event.what.startswith("local:") for event in inside),
        merging=_merges(carried),
    )


def _merges(carried: list[Event]) -> bool:
    """Whether a sum follows another one that does not follow it; sums that follow each other correct rounding."""
    used: dict[str, set[str]] = {}
    for event in carried:
        used.setdefault(event.target, set()).update(event.uses)
    sums = {event.target for event in carried if event.what == "sum"}
    return any(other in used[one] and one not in used[other] for one in sums for other in sums - {one})


def _places(inside: list[Event], kind: EventKind) -> frozenset[str]:
    return frozenset(e.what for e in inside if e.kind is kind and not e.what.startswith("local:"))


def _of_block(read: Event) -> Sweep:
    return Sweep(read.line, frozenset({read.what}), frozenset(), frozenset(), maximum=False, exp=False)


def _merge(one: Sweep, other: Sweep) -> Sweep:
    """A loop and its ragged end are one sweep."""
    return Sweep(
        line=one.line,
        reads=one.reads | other.reads,
        writes=one.writes | other.writes,
        folds=one.folds | other.folds,
        maximum=one.maximum or other.maximum,
        exp=one.exp or other.exp,
        stored=one.stored or other.stored,
        merging=one.merging or other.merging,
    )


def _of_branch(branch: Branch, axis: str) -> Walked:
    """The sweeps of the only arm that has some; of the first, where all arms walk alike."""
    arms = [walked for arm in branch.arms if (walked := sweeps(arm, axis)).sweeps]
    if not arms:
        return Walked()
    if len({_shape(walked) for walked in arms}) == 1:
        return arms[0]
    return Walked(arms[0].sweeps, (Gap(f"alternatives walk over {axis} in different ways", branch.line),))


def _shape(walked: Walked) -> tuple[tuple[frozenset[str], frozenset[str], bool], ...]:
    return tuple((sweep.reads, sweep.writes, sweep.exp) for sweep in walked.sweeps)
