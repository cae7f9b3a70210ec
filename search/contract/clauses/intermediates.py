"""`intermediates`: tensors that the entry point allocates, with the axes that their size depends on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.contract.clauses.grid import same_axes
from search.contract.observation import Observation

if TYPE_CHECKING:
    from pydantic import JsonValue

    from search.contract.facts import Program


def observe(program: Program, _: str) -> Observation:
    """Every buffer with its axes, used or not."""
    value: dict[str, JsonValue] = {buffer.name: [*sorted(buffer.axes)] for buffer in program.buffers}
    names = ", ".join(f"{b.name} over {' x '.join(sorted(b.axes))}" for b in program.buffers)
    line = program.buffers[0].line if program.buffers else None
    return Observation(value, f"allocated: {names or 'nothing'}", line, program.gaps)


def agrees(wanted: JsonValue, seen: JsonValue) -> bool:
    """The same tensors with the same axes in any order: a packed tensor may be laid out either way."""
    if not isinstance(wanted, dict) or not isinstance(seen, dict):
        return False
    return wanted.keys() == seen.keys() and all(same_axes(axes, seen[name]) for name, axes in wanted.items())


def breaks(wanted: JsonValue, seen: JsonValue) -> bool:
    """A tensor that the contract does not know."""
    return isinstance(wanted, dict) and isinstance(seen, dict) and not seen.keys() <= wanted.keys()
