"""`atomics`: which kinds of atomic operations there are, as a list: `accumulate` and `counter`.

`accumulate` adds to floating-point data, so the order of the additions is left open; `counter` counts or locks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.contract.facts import EventKind, Program, all_gaps, events
from search.contract.observation import Observation

if TYPE_CHECKING:
    from pydantic import JsonValue


def observe(program: Program, subject: str) -> Observation:
    """Atomic operations of all kernels, or of the one that the subject names."""
    kernels = [kernel for kernel in program.kernels if subject in {"", kernel.name}]
    found = [event for kernel in kernels for event in events(kernel.body) if event.kind is EventKind.ATOMIC]
    words: list[JsonValue] = [*sorted({_word(event.dtype) for event in found})]
    places = ", ".join(f"{event.what} in line {event.line}" for event in found) or "none"
    return Observation(words, f"atomics: {places}", found[0].line if found else None, all_gaps(program))


def agrees(wanted: JsonValue, seen: JsonValue) -> bool:
    """The same kinds."""
    return isinstance(wanted, list) and wanted == seen


def breaks(wanted: JsonValue, seen: JsonValue) -> bool:
    """A kind that the contract does not have."""
    return isinstance(wanted, list) and isinstance(seen, list) and any(word not in wanted for word in seen)


def _word(dtype: str) -> str:
    return "counter" if dtype == "int" else "accumulate"
