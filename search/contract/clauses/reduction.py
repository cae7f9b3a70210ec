"""`reduction(axis)`: how an axis is reduced, told from the sweeps over it.

Row forms: `three_pass`, `stored_exp`, `online`, `two_pass`, `resident`. Both kinds: `split_combine`.
Contractions: `loop`. Anything else is `other`, nothing at all is `none`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.contract.facts import (
    AXIS_KNOBS,
    Event,
    EventKind,
    Kernel,
    Loop,
    Program,
    Role,
    events,
    gaps,
    walk,
)
from search.contract.observation import Observation
from search.contract.sweeps import Sweep, Walked, sweeps

if TYPE_CHECKING:
    from pydantic import JsonValue


def observe(program: Program, subject: str) -> Observation:
    """Form of the reduction over an axis."""
    walked = [sweeps(kernel.body, subject) for kernel in program.kernels]
    unclear = [*program.gaps]
    for kernel, found in zip(program.kernels, walked, strict=True):
        unclear += [*gaps(kernel.body), *found.gaps]
    merge = _merge(program.kernels, walked)
    found_sweeps = [sweep for part in walked for sweep in part.sweeps]
    line: int | None
    if merge is not None:
        form, line = "split_combine", merge.line
        evidence = "partial results of an earlier kernel are merged over the parts"
    else:
        form = _form(found_sweeps, program.main_inputs)
        line = found_sweeps[0].line if found_sweeps else None
        evidence = " | ".join(sweep.text for sweep in found_sweeps) or f"no sweep over {subject}"
    return Observation(form, evidence, line, tuple(unclear))


def agrees(wanted: JsonValue, seen: JsonValue) -> bool:
    """The same word."""
    return wanted == seen


def _form(found: list[Sweep], inputs: frozenset[str]) -> str:
    reading = [sweep for sweep in found if sweep.reads & inputs]
    again = [sweep for sweep in found if any(place.startswith("output:") for place in sweep.reads)]
    if not found:
        return "none"
    if not inputs:
        return "loop" if any(_accumulates(sweep) for sweep in found) else "other"
    if again:
        return "stored_exp" if _is_stored_exp(found, reading, again) else "other"
    match reading:
        case [_]:
            return "resident"
        case [first, last] if first.maximum and first.exp and "rescale" in first.folds and last.exp:
            return "online"
        case [first, _] if "sum" in first.folds and not first.exp and not first.maximum:
            return "two_pass"
        case [first, second, last] if _is_three_pass(first, second, last):
            return "three_pass"
    return "other"


def _is_three_pass(first: Sweep, second: Sweep, last: Sweep) -> bool:
    maximum = "max" in first.folds and not first.exp
    return maximum and second.exp and "sum" in second.folds and last.exp and bool(last.writes)


def _is_stored_exp(found: list[Sweep], reading: list[Sweep], again: list[Sweep]) -> bool:
    if len(found) != 3 or len(reading) != 2 or len(again) != 1:
        return False
    first, second = reading
    return "max" in first.folds and second.exp and bool(second.writes) and not again[0].exp


def _accumulates(sweep: Sweep) -> bool:
    return "sum" in sweep.folds


def _merge(kernels: tuple[Kernel, ...], walked: list[Walked]) -> Loop | Event | None:
    """Where parts are merged that an earlier kernel, which walked over the axis, left in memory."""
    partial: set[str] = set()
    for kernel, found in zip(kernels, walked, strict=True):
        place = next((node for node in walk(kernel.body) if _merges(node, kernel, partial)), None)
        if isinstance(place, Loop | Event):
            return place
        if found.sweeps:
            partial |= {e.what for e in events(kernel.body) if e.kind is EventKind.WRITE}
    return None


def _merges(node: object, kernel: Kernel, partial: set[str]) -> bool:
    """A loop over the parts that folds them, or one block of all parts (Triton) that is folded."""
    match node:
        case Loop(role=Role.SEQUENTIAL, axes=axes) if axes & AXIS_KNOBS:
            inside = list(events(node.body))
            folded = any(e.kind is EventKind.FOLD and e.what in {"sum", "max"} for e in inside)
            return folded and any(e.kind is EventKind.READ and e.what in partial for e in inside)
        case Event(kind=EventKind.READ, what=what, span=span) if span & AXIS_KNOBS and what in partial:
            return any(e.kind is EventKind.FOLD and e.span & AXIS_KNOBS for e in events(kernel.body))
    return False
