"""What the knobs of one structure do: which matter, how values go together, how two of them interact.

Geometry of the charts is made here, so that they are read without JavaScript; `searches/_knob_charts.html` draws it.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from search.importance import KnobImportance, knob_importance
from search.records import EvaluationStatus, Knob, KnobValue, Purpose

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MOST_AXES = 8
MOST_LINES = 300
TOP_LINES = 60
"""Of the lines drawn so many are the fastest; the others are spread over the rest."""
SHADES = 5
WIDTH, HEIGHT, TOP, SIDE = 1000, 320, 46, 44


@dataclass(frozen=True)
class Point:
    """A candidate that passed, with every knob's value."""

    key: str
    knobs: Mapping[str, KnobValue]
    speedup: float


def points_of(knobs: Sequence[Knob], rows: Sequence[Mapping[str, Any]]) -> list[Point]:
    """Passed candidates as the search measured them; confirmations are other measurements of the same."""
    defaults = {knob.name: knob.default for knob in knobs}
    return [
        Point(
            row["id"],
            defaults | {name: row["knobs"][name] for name in defaults if name in row["knobs"]},
            row["speedup"],
        )
        for row in rows
        if row["purpose"] == Purpose.SEARCH and row["status"] == EvaluationStatus.PASSED and row["speedup"]
    ]


def importances(points: Sequence[Point]) -> list[KnobImportance]:
    """Knobs that took more than one value, the one that explains most first."""
    found = knob_importance([(point.knobs, point.speedup) for point in points])
    varying = {name for name in (points[0].knobs if points else {}) if len(_distinct(points, name)) > 1}
    return [one for one in found if one.knob in varying]


def _distinct(points: Sequence[Point], name: str) -> list[KnobValue]:
    """Values that a knob took, numbers by size and words after them; true is not 1."""
    found = {(type(value), value): value for value in (point.knobs[name] for point in points)}
    return sorted(found.values(), key=_rank)


@dataclass(frozen=True)
class Tick:
    """A value on an axis."""

    y: float
    text: str


@dataclass(frozen=True)
class Axis:
    """One vertical axis."""

    x: float
    name: str
    ticks: tuple[Tick, ...]


@dataclass(frozen=True)
class Line:
    """One candidate across all axes."""

    key: str
    path: str
    shade: int
    """0 (slowest fifth) to 4 (fastest fifth)."""
    is_best: bool
    told: str


@dataclass(frozen=True)
class ParallelCoordinates:
    """Axes and lines in units of a picture of 1000 x 320."""

    axes: tuple[Axis, ...]
    lines: tuple[Line, ...]
    """Slowest first, so that fast ones are drawn on top."""
    count: int
    """Candidates there are, of which some may not be drawn."""


def parallel_coordinates(points: Sequence[Point], knobs: Sequence[str]) -> ParallelCoordinates | None:
    """Lines over the given knobs and the speed-up; None for fewer than two candidates or no knob."""
    names = list(knobs)[:MOST_AXES]
    if len(points) < 2 or not names:
        return None
    step = (WIDTH - 2 * SIDE) / len(names)
    axes = [_axis(points, name, SIDE + step * place) for place, name in enumerate(names)]
    speeds = sorted(point.speedup for point in points)
    last = _speed_axis(speeds[0], speeds[-1])
    drawn = _thinned(sorted(points, key=lambda point: point.speedup))
    lines = tuple(_line(point, axes, speeds, point is drawn[-1]) for point in drawn)
    return ParallelCoordinates((*axes, last), lines, len(points))


def _thinned(points: list[Point]) -> list[Point]:
    """All, or the fastest and an even choice of the rest."""
    if len(points) <= MOST_LINES:
        return points
    rest, top = points[:-TOP_LINES], points[-TOP_LINES:]
    kept = MOST_LINES - TOP_LINES
    return [rest[place * len(rest) // kept] for place in range(kept)] + top


def _axis(points: Sequence[Point], name: str, x: float) -> Axis:
    texts = [_text(value) for value in _distinct(points, name)]
    gap = (HEIGHT - 2 * TOP) / max(1, len(texts) - 1)
    ticks = [Tick(HEIGHT - TOP - gap * place, text) for place, text in enumerate(texts)]
    return Axis(x, name, tuple(ticks) if len(ticks) > 1 else (Tick(HEIGHT / 2, texts[0]),))


def _rank(value: KnobValue) -> tuple[bool, float, str]:
    """Numbers by size, words after them by name."""
    return (isinstance(value, str), float(value) if not isinstance(value, str) else 0.0, str(value))


def _text(value: KnobValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _speed_axis(low: float, high: float) -> Axis:
    ticks = [
        Tick(_height(value, low, high), f"{value:.2f}\N{MULTIPLICATION SIGN}")
        for value in (low, (low + high) / 2, high)
    ]
    return Axis(WIDTH - SIDE, "speed-up", tuple(ticks) if high > low else (ticks[0],))


def _height(value: float, low: float, high: float) -> float:
    return HEIGHT - TOP - (HEIGHT - 2 * TOP) * (value - low) / (high - low) if high > low else HEIGHT / 2


def _line(point: Point, axes: Sequence[Axis], speeds: Sequence[float], is_best: bool) -> Line:
    corners = []
    for axis in axes:
        text = _text(point.knobs[axis.name])
        corners.append((axis.x, next(tick.y for tick in axis.ticks if tick.text == text)))
    corners.append((WIDTH - SIDE, _height(point.speedup, speeds[0], speeds[-1])))
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in corners)
    told = " ".join(f"{axis.name}={_text(point.knobs[axis.name])}" for axis in axes)
    return Line(point.key, path, _shade(point.speedup, speeds), is_best, told)


def _shade(speedup: float, speeds: Sequence[float]) -> int:
    """Fifth of all candidates into which a speed-up falls; `speeds` are sorted."""
    return min(SHADES - 1, bisect_left(speeds, speedup) * SHADES // len(speeds))


@dataclass(frozen=True)
class Cell:
    """All candidates with one pair of values."""

    best: float | None
    key: str
    count: int
    shade: int


@dataclass(frozen=True)
class HeatMap:
    """Best speed-up by the values of two knobs; rows are values of `down`."""

    across: str
    down: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    names: tuple[str, ...]
    """Knobs to choose from."""


def heat_map(points: Sequence[Point], names: Sequence[str], across: str, down: str) -> HeatMap | None:
    """The map of two knobs; unknown or equal names fall back to the first that differ. None with fewer than two knobs."""
    if len(names) < 2:
        return None
    across = across if across in names else names[0]
    down = down if down in names and down != across else next(name for name in names if name != across)
    speeds = sorted(point.speedup for point in points)
    columns = [_text(value) for value in _distinct(points, across)]
    found: dict[tuple[str, str], list[Point]] = {}
    for point in points:
        found.setdefault((_text(point.knobs[down]), _text(point.knobs[across])), []).append(point)
    rows = [
        (text, tuple(_cell(found.get((text, column), []), speeds) for column in columns))
        for text in (_text(value) for value in reversed(_distinct(points, down)))
    ]
    return HeatMap(across, down, tuple(columns), tuple(rows), tuple(names))


def _cell(points: Sequence[Point], speeds: Sequence[float]) -> Cell:
    if not points:
        return Cell(None, "", 0, 0)
    best = max(points, key=lambda point: point.speedup)
    return Cell(best.speedup, best.key, len(points), _shade(best.speedup, speeds))
