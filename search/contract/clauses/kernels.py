"""`kernels`: names of the launches in order, each with one parallel loop nest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.contract.clauses.grid import nests
from search.contract.observation import Observation

if TYPE_CHECKING:
    from pydantic import JsonValue

    from search.contract.facts import Gap, Program


def observe(program: Program, _: str) -> Observation:
    """Names in launch order; a function with several parallel loops counts several times."""
    names: list[JsonValue] = []
    gaps: list[Gap] = list(program.gaps)
    for kernel in program.kernels:
        loops = nests(kernel.body)
        names += [kernel.name, *(f"{kernel.name} (line {loop.line})" for loop in loops[1:])]
    places = ", ".join(f"{kernel.name} (line {kernel.line})" for kernel in program.kernels)
    line = program.kernels[0].line if program.kernels else None
    return Observation(names, f"launched in order: {places or 'nothing'}", line, tuple(gaps))


def agrees(wanted: JsonValue, seen: JsonValue) -> bool:
    """The same names in the same order."""
    return wanted == seen


def breaks(wanted: JsonValue, seen: JsonValue) -> bool:
    """A launch that the contract does not know."""
    return isinstance(wanted, list) and isinstance(seen, list) and any(name not in wanted for name in seen)
