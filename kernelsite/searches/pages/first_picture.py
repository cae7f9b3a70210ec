"""Best so far of a search as the server draws it: it stands at once, until the chart of `curves.js` takes its place.

Same dots, line, axes and reference lines as there; places are in percent of the plot, from its left and its top.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelsite.catalog.templatetags.show import speedup
from search.records import EvaluationStatus, Purpose

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelsite.searches.rows import CandidateRow
    from kernelsite.searches.snapshot import Snapshot

MOST_DOTS = 1200
SPAN = 10
"""Units of the picture per percent."""
ROOM = 1.06
"""Where Plotly ends its axes beyond the last mark."""
MOST_X_TICKS, MOST_Y_TICKS = 7, 8

Corner = tuple[float, float]


@dataclass(frozen=True)
class Tick:
    """A labelled place on an axis."""

    place: float
    text: str


@dataclass(frozen=True)
class Level:
    """A horizontal reference line."""

    place: float
    text: str
    kind: str
    """`base` or `floor`."""


@dataclass(frozen=True)
class Confirmed:
    """A confirmation with its interval."""

    x: float
    y: float
    low: float
    high: float


@dataclass(frozen=True)
class FirstPicture:
    """What `templates/searches/_first_picture.html` draws; paths are in units of a square of 1000."""

    dots: str
    line: str
    records: str
    confirmed: tuple[Confirmed, ...]
    levels: tuple[Level, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    note: str
    told: str
    """The picture in words."""


@dataclass(frozen=True)
class Frame:
    """Ranges of both axes, from 0."""

    right: float
    top: float

    def x(self, value: float) -> float:
        """Percent from the left."""
        return round(100 * value / self.right, 2)

    def y(self, value: float) -> float:
        """Percent from the top."""
        return round(100 - 100 * value / self.top, 2)

    def line(self, corners: Iterable[Corner]) -> str:
        """Points of a polyline."""
        return " ".join(f"{self.x(x) * SPAN:.1f},{self.y(y) * SPAN:.1f}" for x, y in corners)

    def marks(self, corners: Iterable[Corner]) -> str:
        """A path of strokes without length, which round caps make dots."""
        return "".join(f"M{self.x(x) * SPAN:.1f} {self.y(y) * SPAN:.1f}h0" for x, y in corners)


def first_picture(document: Snapshot, floor: float | None) -> FirstPicture | None:
    """Speed-up against evaluations; None before the first search evaluation that passed."""
    passed = _passed(document["candidates"], Purpose.SEARCH)
    if not passed:
        return None
    confirmed = _passed(document["candidates"], Purpose.CONFIRM)
    end = max(row["order"] or 0 for row in document["candidates"])
    corners = [_corner(row) for row in passed]
    records = _records(corners)
    levels = _levels(document, floor)
    tops = [row["high"] or 0.0 for row in confirmed] + [value for value, _, _ in levels]
    frame = Frame(ROOM * end, ROOM * max(records[-1][1], *tops, 0.0))
    dots = _thinned(corners)
    return FirstPicture(
        dots=frame.marks(dots),
        line=frame.line(_steps(records, end)),
        records=frame.marks(records),
        confirmed=tuple(_confirmed(row, frame) for row in confirmed),
        levels=tuple(Level(frame.y(value), text, kind) for value, text, kind in levels),
        x_ticks=tuple(Tick(frame.x(value), text) for value, text in ticks(frame.right, MOST_X_TICKS)),
        y_ticks=tuple(Tick(frame.y(value), text) for value, text in ticks(frame.top, MOST_Y_TICKS)),
        note=_note(len(dots), len(corners)),
        told=f"Best so far: {speedup(records[-1][1])} after {end} evaluations, {len(records)} records",
    )


def _passed(rows: Iterable[CandidateRow], purpose: Purpose) -> list[CandidateRow]:
    """Charged ones of a purpose that passed with a speed-up, in the order in which they were charged."""
    found = [
        row
        for row in rows
        if row["order"] and row["speedup"] and row["purpose"] == purpose and row["status"] == EvaluationStatus.PASSED
    ]  # fmt: skip
    return sorted(found, key=lambda row: row["order"] or 0)


def _corner(row: CandidateRow) -> Corner:
    return float(row["order"] or 0), row["speedup"] or 0.0


def _records(corners: Iterable[Corner]) -> list[Corner]:
    found: list[Corner] = []
    for corner in corners:
        if not found or corner[1] > found[-1][1]:
            found.append(corner)
    return found


def _thinned(corners: Sequence[Corner]) -> list[Corner]:
    """The same choice as `thinned` of `curves.js` makes."""
    step = 2 ** max(0, math.ceil(math.log2(len(corners) / MOST_DOTS)))
    return [corner for corner in corners if step == 1 or corner[0] % step == 0]


def _note(drawn: int, count: int) -> str:
    return f"{drawn} of {count} dots drawn; the line holds every record" if drawn < count else ""


def _steps(records: Iterable[Corner], end: float) -> list[Corner]:
    """Level from one record to the next, and on to the last evaluation."""
    corners: list[Corner] = []
    for x, y in records:
        if corners:
            corners.append((x, corners[-1][1]))
        corners.append((x, y))
    return [*corners, (end, corners[-1][1])]


def _levels(document: Snapshot, floor: float | None) -> list[tuple[float, str, str]]:
    """Baseline, and the floor where the settings name one: value, text, kind."""
    best = document["search"]["best"]
    if not best:
        return []
    base = (1.0, f"1.0\N{MULTIPLICATION SIGN} {best['baseline']}", "base")
    return [base, (floor, f"floor: {speedup(floor)}", "floor")] if floor else [base]


def _confirmed(row: CandidateRow, frame: Frame) -> Confirmed:
    x, y = _corner(row)
    return Confirmed(frame.x(x), frame.y(y), frame.y(row["low"] or y), frame.y(row["high"] or y))


def ticks(end: float, most: int) -> list[tuple[float, str]]:
    """Round numbers from 0 to an end above 0, no more than `most` steps, as Plotly chooses them."""
    rough = end / (most + 0.5)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(size * power for size in (2, 5, 10) if size * power >= rough)
    return [(n * step, f"{n * step:g}") for n in range(int(end / step) + 1)]
