"""`numerics`: type of the accumulators, whether there are lanes of them, which exponential, TF32.

A down-cast anywhere breaks it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.contract.facts import Event, EventKind, Gap, Loop, Program, events, gaps, walk
from search.contract.observation import Observation

if TYPE_CHECKING:
    from pydantic import JsonValue


def observe(program: Program, _: str) -> Observation:
    """Accumulator type, exponential and TF32 over all kernels."""
    found = [event for kernel in program.kernels for event in events(kernel.body)]
    unclear = [*program.gaps, *(gap for kernel in program.kernels for gap in gaps(kernel.body))]
    folds = [e for e in found if e.kind is EventKind.FOLD and e.what in {"sum", "max"}]
    unclear += [Gap(f"the type of {e.target} is not told", e.line) for e in folds if not e.dtype]
    casts = [e for e in found if e.kind is EventKind.CAST]
    kinds = {e.what for e in found if e.kind is EventKind.EXP}
    dots = {e.what for e in found if e.kind is EventKind.DOT}
    value: dict[str, JsonValue] = {
        "accumulate": _one({e.dtype for e in folds if e.dtype} | {e.what for e in casts}),
        "exp": _one(kinds) if kinds else "none",
        "tf32": bool(dots - {"ieee", "tf32x3", "fma"}),
        "lanes": "vector" if _has_lanes(program, folds) else "scalar",
    }
    if not folds and not dots:
        unclear.append(Gap("no accumulator was found", 1))
    return Observation(value, _evidence(folds, casts, kinds), _line(folds, casts), tuple(unclear))


def agrees(wanted: JsonValue, seen: JsonValue) -> bool:
    """Every key that the contract names has its value; the others are free."""
    if not isinstance(wanted, dict) or not isinstance(seen, dict):
        return False
    return all(seen.get(key) == value for key, value in wanted.items())


def breaks(wanted: JsonValue, seen: JsonValue) -> bool:
    """A down-cast that the contract does not allow, or TF32 where it must not be."""
    if not isinstance(wanted, dict) or not isinstance(seen, dict):
        return False
    low = {"float16", "bfloat16"} & _words(seen.get("accumulate")) - _words(wanted.get("accumulate"))
    return bool(low) or (wanted.get("tf32") is False and seen.get("tf32") is True)


def _words(value: JsonValue) -> set[str]:
    return set(map(str, value)) if isinstance(value, list) else {str(value)}


def _has_lanes(program: Program, folds: list[Event]) -> bool:
    """Whether an accumulator is a vector register, or an array of accumulators is folded into one."""
    accumulators = {fold.target for fold in folds}
    nodes = [node for kernel in program.kernels for node in walk(kernel.body)]
    loops = [node for node in nodes if isinstance(node, Loop) and not node.axes]
    return any(fold.vector for fold in folds) or any(_folds_elements(loop, accumulators) for loop in loops)


def _folds_elements(loop: Loop, accumulators: set[str]) -> bool:
    """A loop over the elements of an array of accumulators, which folds them into a target that stays the same."""
    inside = list(events(loop.body))
    picked = {
        event.what.removeprefix("local:")
        for event in inside
        if event.kind is EventKind.READ and loop.variable in event.index
    }
    return any(
        (event.sources & accumulators & picked) - {event.target}
        for event in inside
        if event.kind is EventKind.FOLD and event.level <= loop.depth and loop.variable not in event.index
    )


def _one(words: set[str]) -> JsonValue:
    """The word, or all of them where there are several."""
    return next(iter(words)) if len(words) == 1 else [*sorted(words)]


def _evidence(folds: list[Event], casts: list[Event], kinds: set[str]) -> str:
    names = sorted({f"{event.target.split('#')[0]} {event.dtype}" for event in folds})
    parts = [
        f"accumulators {', '.join(names) or 'none'}",
        f"exponential {', '.join(sorted(kinds)) or 'none'}",
    ]
    parts += [f"cast to {event.what} in line {event.line}" for event in casts]
    return "; ".join(parts)


def _line(folds: list[Event], casts: list[Event]) -> int | None:
    first = [*casts, *folds][:1]
    return first[0].line if first else None
