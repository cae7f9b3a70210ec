"""`contraction(axis)`: what the innermost work along the contracted axis is, and whether it goes block by block.

`dot`: a scalar sum along the axis (Triton: `tl.dot`). `axpy`: outputs in memory are updated for each step of the
axis. `register_tile`: a two-dimensional block of accumulators is updated for each step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.contract.facts import Branch, Event, EventKind, Loop, Node, Program, Role, gaps, walk
from search.contract.observation import Observation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydantic import JsonValue


def observe(program: Program, subject: str) -> Observation:
    """Form of the contraction, over all loops along the axis that accumulate."""
    found = [pair for kernel in program.kernels for pair in _forms(kernel.body, subject, ())]
    unclear = [*program.gaps, *(gap for kernel in program.kernels for gap in gaps(kernel.body))]
    words = sorted({form for form, _ in found})
    if "register_tile" in words:
        # Tiles at the edges of the output are too small for the block and are done in some other way.
        words = ["register_tile"]
    lines = sorted({line for _, line in found})
    evidence = ", ".join(f"{form} in line {line}" for form, line in dict.fromkeys(found)) or "no accumulation"
    blocked = any(_is_blocked(kernel.body, subject) for kernel in program.kernels)
    value: JsonValue = {"form": words[0] if len(words) == 1 else [*words], "blocked": blocked}
    return Observation(value, evidence, lines[0] if lines else None, tuple(unclear))


def agrees(wanted: JsonValue, seen: JsonValue) -> bool:
    """The same form, blocked or not."""
    return wanted == seen


def _forms(nodes: Iterable[Node], axis: str, around: tuple[Loop, ...]) -> Iterator[tuple[str, int]]:
    for node in nodes:
        match node:
            case Loop():
                yield from _forms(node.body, axis, (*around, node))
            case Branch():
                for arm in node.arms:
                    yield from _forms(arm, axis, around)
            case Event(kind=EventKind.DOT):
                yield "dot", node.line
            case Event(kind=EventKind.FOLD, what="sum"):
                form = _form(node, axis, around)
                if form:
                    yield form, node.line


def _form(fold: Event, axis: str, around: tuple[Loop, ...]) -> str:
    """Form of one accumulation; empty if the axis does not carry it."""
    loops = [loop for loop in around if loop.role is Role.SEQUENTIAL]
    carrying = [loop for loop in loops if axis in loop.axes and loop.variable not in fold.index]
    if not carrying or fold.level > carrying[-1].depth or _walks_again(carrying[-1], axis):
        return ""
    inner = [loop for loop in loops if loop.depth > carrying[-1].depth and loop.variable in fold.index]
    if any(loop.axes for loop in inner):
        return "axpy"
    return "register_tile" if len(inner) >= 2 else "dot"


def _is_blocked(nodes: tuple[Node, ...], axis: str) -> bool:
    """Whether the axis is walked block by block: a loop over it inside another, or a dot product of blocks."""
    found = list(walk(nodes))
    if any(isinstance(node, Event) and node.kind is EventKind.DOT for node in found):
        return True
    loops = [node for node in found if isinstance(node, Loop) and node.role is Role.SEQUENTIAL]
    return any(axis in loop.axes and _walks_again(loop, axis) for loop in loops)


def _walks_again(loop: Loop, axis: str) -> bool:
    """Whether a loop only steps from block to block of the axis; what it accumulates are sums of blocks."""
    return any(isinstance(node, Loop) and axis in node.axes for node in walk(loop.body))
