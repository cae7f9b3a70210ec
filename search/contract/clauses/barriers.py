"""`barriers`: how far threads wait for each other inside a kernel, as a list: `block`, `cluster`, `grid`.

Waiting inside a block is local; it only counts where the contract names it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.contract.facts import EventKind, Program, all_gaps, events
from search.contract.observation import Observation

if TYPE_CHECKING:
    from pydantic import JsonValue


def observe(program: Program, _: str) -> Observation:
    """Scopes of all barriers."""
    found = [e for kernel in program.kernels for e in events(kernel.body) if e.kind is EventKind.BARRIER]
    words: list[JsonValue] = [*sorted({event.what for event in found})]
    places = ", ".join(f"{event.what} in line {event.line}" for event in found) or "none"
    line = next((event.line for event in found if event.what != "block"), None)
    return Observation(words, f"barriers: {places}", line, all_gaps(program))


def agrees(wanted: JsonValue, seen: JsonValue) -> bool:
    """The same scopes."""
    if not isinstance(wanted, list) or not isinstance(seen, list):
        return False
    local = {"block"} - set(map(str, wanted))
    return set(map(str, seen)) - local == set(map(str, wanted))


def breaks(wanted: JsonValue, seen: JsonValue) -> bool:
    """A scope wider than the contract's."""
    if not isinstance(wanted, list) or not isinstance(seen, list):
        return False
    return bool(set(map(str, seen)) - set(map(str, wanted)) - {"block"})
