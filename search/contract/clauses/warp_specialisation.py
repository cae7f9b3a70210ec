"""`warp_specialisation`: whether groups of warps of one program have different roles (`true` or `false`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.contract.facts import EventKind, Program, all_gaps, events
from search.contract.observation import Observation

if TYPE_CHECKING:
    from pydantic import JsonValue


def observe(program: Program, _: str) -> Observation:
    """Whether roles are given out anywhere."""
    found = [e for kernel in program.kernels for e in events(kernel.body) if e.kind is EventKind.ROLES]
    places = ", ".join(f"{event.what} in line {event.line}" for event in found) or "none"
    return Observation(
        bool(found), f"roles of warps: {places}", found[0].line if found else None, all_gaps(program)
    )


def agrees(wanted: JsonValue, seen: JsonValue) -> bool:
    """The same."""
    return wanted is seen


def breaks(wanted: JsonValue, seen: JsonValue) -> bool:
    """Roles where there must be none."""
    return wanted is False and seen is True
