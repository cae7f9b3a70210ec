"""Abstract values: what a reader knows of an expression without running it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from search.contract.facts import NO_AXES, Axes

if TYPE_CHECKING:
    from collections.abc import Iterable

NONE: frozenset[str] = frozenset()

WORKER = "worker"
"""Mark of a value that comes from a thread or program number."""
WORKERS = "workers"
"""Mark of a value that comes from the number of threads or programs."""
BLOCKED = "blocked"
"""Mark of the number of blocks that an axis is cut into."""
BLOCK = "block"
"""Mark of a value that has an element per index of a block (Triton)."""
ALLOCATED = "allocated"
"""Mark of memory that was just allocated; its axes are those of its size."""
THREAD = "thread"
"""Mark of a value that differs between the threads of one program (CUDA)."""
DESCRIBED = "described"
"""Mark of a descriptor for bulk copies."""
_LOWERED = "lowered:"

EFFORT = 20_000
"""Steps spent on one source: calls that multiply could otherwise keep a reader busy for hours."""


class TooMuchError(Exception):
    """A source takes more steps to follow than a reader spends."""


@dataclass
class Effort:
    """Steps left for one source."""

    left: int = EFFORT

    def spend(self, value: Value | None = None) -> None:
        """Take a step; values that depend on very many variables cost more.

        Raises:
            TooMuchError: nothing is left.
        """
        self.left -= 1 + (len(value.deps) // 64 if value is not None else 0)
        if self.left < 0:
            raise TooMuchError


@dataclass(frozen=True)
class Value:
    """An expression as seen by a reader."""

    axes: Axes = NO_AXES
    """Axes whose size it depends on."""
    span: Axes = NO_AXES
    """Axes that a block of indices covers."""
    places: frozenset[str] = NONE
    """Tensors it may point into, `input:x`, `output:y`, `buffer:product`, `local:row#3`."""
    rank: int = 0
    """How often it can be dereferenced."""
    op: str = ""
    """Outermost operation: `+`, `*`, `max` or empty."""
    deps: frozenset[str] = NONE
    """Variables it was computed from."""
    scaled: frozenset[str] = NONE
    """Variables that were multiplied on the way."""
    marks: frozenset[str] = NONE
    dtype: str = ""

    @property
    def lowered(self) -> list[str]:
        """Lower precisions that it was rounded to on the way."""
        return sorted(mark.removeprefix(_LOWERED) for mark in self.marks if mark.startswith(_LOWERED))

    def rounded(self, dtype: str) -> Value:
        """The same value rounded to a lower precision; nothing happens to a value that has it already."""
        if self.dtype == dtype:
            return self
        return replace(self, dtype=dtype, marks=self.marks | {_LOWERED + dtype})

    def with_op(self, op: str) -> Value:
        """The same value as the result of an operation; a product scales what it is made of."""
        return replace(self, op=op, scaled=self.scaled | self.deps if op == "*" else self.scaled)


NOTHING = Value()


def is_regrouping(left: Value, right: Value) -> bool:
    """Whether `left // right` or `left % right` takes a flat number of a unit of work apart by a product."""
    return right.op == "*" and bool(right.axes) and bool(left.deps)


def quotient(left: Value, right: Value, op: str) -> Value:
    """A division; an axis divided by a block size gives a number of blocks, by a number of workers a share."""
    joined = join([left, right], op)
    if left.axes and not right.axes and WORKERS not in right.marks:
        return replace(joined, marks=joined.marks | {BLOCKED})
    return joined


def join(values: Iterable[Value], op: str = "") -> Value:
    """A value made from others."""
    parts = list(values)
    joined = Value(
        axes=NO_AXES.union(*(part.axes for part in parts)),
        span=NO_AXES.union(*(part.span for part in parts)),
        places=NONE.union(*(part.places for part in parts)),
        rank=max((part.rank for part in parts), default=0),
        deps=NONE.union(*(part.deps for part in parts)),
        scaled=NONE.union(*(part.scaled for part in parts)),
        marks=NONE.union(*(part.marks for part in parts)) - {ALLOCATED},
        dtype=next((part.dtype for part in parts if part.dtype), ""),
    )
    return joined.with_op(op)
