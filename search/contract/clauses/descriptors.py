"""`descriptors`: tensors that are moved by bulk descriptor copies (TMA).

The contract says `true` (some are), `false` (none is), or lists inputs and outputs by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.contract.facts import EventKind, Program, all_gaps, events, name_of
from search.contract.observation import Observation

if TYPE_CHECKING:
    from pydantic import JsonValue


def observe(program: Program, _: str) -> Observation:
    """Names of the tensors that a descriptor is made of."""
    found = [e for kernel in program.kernels for e in events(kernel.body) if e.kind is EventKind.DESCRIPTOR]
    names: list[JsonValue] = [*sorted({name_of(event.what) for event in found})]
    places = ", ".join(f"{name_of(event.what)} in line {event.line}" for event in found) or "none"
    return Observation(
        names, f"descriptors of: {places}", found[0].line if found else None, all_gaps(program)
    )


def agrees(wanted: JsonValue, seen: JsonValue) -> bool:
    """Some, none, or these."""
    if isinstance(wanted, bool):
        return isinstance(seen, list) and bool(seen) == wanted
    return isinstance(wanted, list) and isinstance(seen, list) and sorted(map(str, wanted)) == seen


def breaks(wanted: JsonValue, seen: JsonValue) -> bool:
    """Descriptors where there must be none."""
    return wanted in (False, []) and bool(seen)
