"""`reduction(axis)`: how an axis is reduced, told from the sweeps over it.

Row forms: `three_pass`, `stored_exp`, `online`, `two_pass`, `readd`, `welford`, `resident`. Both kinds:
`split_combine`.
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
        return _form_with_output(found, reading, again)
    if len(reading) > 1 and _reads_each_once(reading, inputs):
        return "resident"
    match reading:
        case [only]:
            narrow = not any(sweep.writes for sweep in found)
            return "online" if narrow and _is_online(only) else "resident"
        case [first, last] if _is_online(first) and last.exp:
            return "online"
        case [first, last]:
            return _form_of_two(first, last, inputs)
        case [first, second, last] if _is_three_pass(first, second, last):
            return "three_pass"
    return "other"


def _reads_each_once(reading: list[Sweep], inputs: frozenset[str]) -> bool:
    """Several inputs, each in a walk of its own, none of them twice."""
    places = [place for sweep in reading for place in sweep.reads & inputs]
    return len(places) == len(set(places))


def _is_online(sweep: Sweep) -> bool:
    return sweep.maximum and sweep.exp and "rescale" in sweep.folds


def _form_of_two(first: Sweep, last: Sweep, inputs: frozenset[str]) -> str:
    if "max" in first.folds and not first.exp and last.exp and "sum" in last.folds:
        return "two_pass"  # maximum, then the sum of exponentials: nothing as wide as the row is written
    if "sum" not in first.folds or first.exp or first.maximum:
        return "other"
    if first.merging:
        return "welford"
    return "readd" if len(first.reads & inputs) > 1 and len(last.reads & inputs) > 1 else "two_pass"


def _form_with_output(found: list[Sweep], reading: list[Sweep], again: list[Sweep]) -> str:
    """Something that was written to an output is read again."""
    if _is_stored_exp(found, reading, again):
        return "stored_exp"
    summed = [s for s in reading if "sum" in s.folds and s.writes and not s.exp and not s.maximum]
    return (
        "two_pass"
        if len(found) == 2 and summed == reading[:1] == found[:1] and again == found[1:]
        else "other"
    )


def _is_three_pass(first: Sweep, second: Sweep, last: Sweep) -> bool:
    """Maximum, sum of exponentials, write; or sum, sum of squared deviations, write."""
    by_maximum = "max" in first.folds and not first.exp and second.exp and last.exp
    by_mean = "sum" in first.folds and not (first.exp or second.exp or last.exp or first.maximum)
    return (by_maximum or by_mean) and "sum" in second.folds and bool(last.writes)


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
