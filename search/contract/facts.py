"""What a source is seen to do, in terms that C++ and Triton share; readers make it, clauses judge it.

A kernel is a tree: loops with the axes their length depends on, branches, and events in program order.
Nothing here trusts a name: axes and tensors are followed from the entry point's arguments.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

AXIS_KNOBS = frozenset({"SPLITS"})
"""Knobs that act as an axis: the number of parts that an axis is cut into."""

Axes = frozenset[str]
NO_AXES: Axes = frozenset()


class Role(StrEnum):
    """How the iterations of a loop are run."""

    SEQUENTIAL = "sequential"
    GRID = "grid"
    DYNAMIC = "dynamic"
    PERSISTENT = "persistent"
    COLLAPSED = "collapsed"
    """An inner loop of a collapsed parallel nest; its axes are told by the outer one."""
    REGION = "region"
    """A parallel region that shares out its work by thread number."""


class EventKind(StrEnum):
    """What a statement does that a contract may care about."""

    READ = "read"
    WRITE = "write"
    FOLD = "fold"
    EXP = "exp"
    CAST = "cast"
    DOT = "dot"
    REGROUP = "regroup"
    """A flat number of a unit of work is taken apart by a product: neighbours in two axes come together."""
    ATOMIC = "atomic"
    BARRIER = "barrier"
    """Threads wait for each other: `block`, `cluster` or `grid`."""
    DESCRIPTOR = "descriptor"
    """A descriptor for bulk copies of a tensor is made."""
    ROLES = "roles"
    """Warps of one program are given different roles."""


@dataclass(frozen=True)
class Event:
    """One thing done. `what` is the place read or written, the kind of fold, the kind of exponential, …"""

    kind: EventKind
    what: str
    line: int
    target: str = ""
    """Fold: the variable or place that is updated."""
    level: int = 0
    """Fold: loops that were open where the target was declared."""
    index: frozenset[str] = frozenset()
    """Loop variables that pick the element that is read, or the target of a fold."""
    dtype: str = ""
    """Fold: type of the accumulator; atomic: of the data; empty if it could not be told."""
    span: Axes = NO_AXES
    """Read or write: axes that one block covers at once (Triton)."""
    vector: bool = False
    """Fold: the accumulator is a vector register."""
    sources: frozenset[str] = frozenset()
    """Fold: local arrays that the folded value comes from."""
    uses: frozenset[str] = frozenset()
    """Fold: variables that the folded value was computed from."""


@dataclass(frozen=True)
class Loop:
    """A loop and what happens in it."""

    axes: Axes
    line: int
    depth: int
    """Loops open around it."""
    variable: str
    body: tuple[Node, ...]
    role: Role = Role.SEQUENTIAL
    blocked: bool = False
    """Parallel loop: an iteration owns a block of indices, not a single one."""
    continues: bool = False
    """It starts where the loop before it ended: the ragged end of an unrolled or vectorised loop."""


@dataclass(frozen=True)
class Branch:
    """Alternatives, of which one is run."""

    arms: tuple[tuple[Node, ...], ...]
    line: int


@dataclass(frozen=True)
class Gap:
    """Something the reader does not understand; whatever depends on it is undecidable."""

    reason: str
    line: int


Node = Event | Loop | Branch | Gap


@dataclass(frozen=True)
class Kernel:
    """One launch, in the order of the entry point."""

    name: str
    line: int
    body: tuple[Node, ...]
    library: bool = False
    """A call of torch or of a vendor's library that does work of its own."""


@dataclass(frozen=True)
class Buffer:
    """A tensor that the entry point allocates."""

    name: str
    axes: Axes
    line: int


@dataclass(frozen=True)
class Program:
    """All facts of a source."""

    kernels: tuple[Kernel, ...] = ()
    buffers: tuple[Buffer, ...] = ()
    gaps: tuple[Gap, ...] = ()
    """Of the entry point and of the file; those of kernels stand in their trees."""
    main_inputs: frozenset[str] = field(default_factory=frozenset)
    """Places of the inputs that have every axis of the first output (the rows that are reduced)."""


def walk(nodes: Iterable[Node]) -> Iterator[Node]:
    """Every node of a tree, outer before inner, in program order."""
    for node in nodes:
        yield node
        match node:
            case Loop():
                yield from walk(node.body)
            case Branch():
                for arm in node.arms:
                    yield from walk(arm)


def events(nodes: Iterable[Node]) -> Iterator[Event]:
    """Every event of a tree in program order."""
    return (node for node in walk(nodes) if isinstance(node, Event))


def touches_memory(nodes: Iterable[Node]) -> bool:
    """Whether tensors are read or written."""
    moves = {EventKind.READ, EventKind.WRITE}
    return any(e.kind in moves and not e.what.startswith("local:") for e in events(nodes))


def gaps(nodes: Iterable[Node]) -> tuple[Gap, ...]:
    """Every gap of a tree."""
    return tuple(node for node in walk(nodes) if isinstance(node, Gap))


def all_gaps(program: Program) -> tuple[Gap, ...]:
    """Every gap of a program, in the entry point and in its kernels."""
    return program.gaps + tuple(gap for kernel in program.kernels for gap in gaps(kernel.body))


def name_of(place: str) -> str:
    """`x` for `input:x`."""
    return place.split(":", 1)[-1]
