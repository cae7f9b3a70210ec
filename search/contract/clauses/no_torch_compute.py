"""`no_torch_compute`: no work is done by a library, torch on the host or a vendor's kernels (`true`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.contract.facts import Program, all_gaps
from search.contract.observation import Observation

if TYPE_CHECKING:
    from pydantic import JsonValue


def observe(program: Program, _: str) -> Observation:
    """Whether nothing but the source's own kernels does work."""
    found = [kernel for kernel in program.kernels if kernel.library]
    places = ", ".join(f"{kernel.name} in line {kernel.line}" for kernel in found) or "nothing"
    return Observation(
        not found, f"done by a library: {places}", found[0].line if found else None, all_gaps(program)
    )


def agrees(wanted: JsonValue, seen: JsonValue) -> bool:
    """A contract that allows libraries does not ask for them."""
    return wanted is False or seen is True


def breaks(wanted: JsonValue, seen: JsonValue) -> bool:
    """A call of a library where there must be none."""
    return wanted is True and seen is False
