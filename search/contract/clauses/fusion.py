"""`fusion(kernel)`: inputs and outputs that this one kernel must touch itself, as a list of names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.contract.facts import EventKind, Program, events, gaps, name_of
from search.contract.observation import Observation

if TYPE_CHECKING:
    from pydantic import JsonValue

_MOVES = {EventKind.READ, EventKind.WRITE}


def observe(program: Program, subject: str) -> Observation:
    """Names of the tensors of the workload that the kernel reads or writes."""
    kernels = [kernel for kernel in program.kernels if kernel.name == subject]
    if len(kernels) != 1:
        return Observation([], f"{subject} is launched {len(kernels)} times", None, program.gaps)
    moved = [event for event in events(kernels[0].body) if event.kind in _MOVES]
    names = sorted({name_of(e.what) for e in moved if e.what.startswith(("input:", "output:"))})
    value: list[JsonValue] = [*names]
    unclear = program.gaps + gaps(kernels[0].body)
    return Observation(value, f"{subject} touches {', '.join(names) or 'nothing'}", kernels[0].line, unclear)


def agrees(wanted: JsonValue, seen: JsonValue) -> bool:
    """At least these."""
    return isinstance(wanted, list) and isinstance(seen, list) and all(name in seen for name in wanted)
