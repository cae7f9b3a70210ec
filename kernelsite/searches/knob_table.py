"""What each value of each knob brought, so that a person sees which knobs matter."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any, TypedDict

from search.records import EvaluationStatus, Knob, KnobValue, Purpose

if TYPE_CHECKING:
    from collections.abc import Sequence


class ValueRow(TypedDict):
    """One value of a knob over all measured candidates that have it."""

    value: KnobValue
    is_default: bool
    tried: int
    passed: int
    best: float | None
    median: float | None
    share: float
    """Best of this value over the best of the knob, for a bar."""


class KnobRow(TypedDict):
    """One knob."""

    knob: Knob
    values: list[ValueRow]
    spread: float | None
    """Best value's best over worst value's best; None while fewer than two values were measured."""


def knob_effects(knobs: Sequence[Knob], rows: Sequence[dict[str, Any]]) -> list[KnobRow]:
    """Knobs in the order of their spread; the ones that matter most come first."""
    searched = [row for row in rows if row["purpose"] == Purpose.SEARCH and row["status"]]
    table = [_knob_row(knob, searched) for knob in knobs]
    return sorted(table, key=lambda row: -(row["spread"] or 0.0))


def _knob_row(knob: Knob, rows: Sequence[dict[str, Any]]) -> KnobRow:
    values = [_value_row(knob, value, rows) for value in knob.choices]
    bests = [value["best"] for value in values if value["best"] is not None]
    for value in values:
        value["share"] = value["best"] / max(bests) if value["best"] is not None else 0.0
    return {"knob": knob, "values": values, "spread": max(bests) / min(bests) if len(bests) > 1 else None}


def _value_row(knob: Knob, value: KnobValue, rows: Sequence[dict[str, Any]]) -> ValueRow:
    with_value = [row for row in rows if row["knobs"].get(knob.name, knob.default) == value]
    speedups = [row["speedup"] for row in with_value if row["status"] == EvaluationStatus.PASSED]
    return {
        "value": value,
        "is_default": value == knob.default,
        "tried": len(with_value),
        "passed": len(speedups),
        "best": max(speedups, default=None),
        "median": median(speedups) if speedups else None,
        "share": 0.0,
    }
