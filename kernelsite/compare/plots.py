"""Line charts drawn by the server: places in percent of the plot, so that the same picture fits every width."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelsite.compare.groups import MOST_LINES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelsite.compare.cases import ByCase
    from kernelsite.compare.groups import Group
    from kernelsite.compare.runs import Axis

SPAN = 1000.0
"""Size of the plot's own square of units; the template stretches it."""
TICKS = 5

Corners = list[tuple[float, float]]


@dataclass(frozen=True)
class Tick:
    """A labelled place on an axis."""

    place: float
    """Percent from the left or from the top."""
    text: str


@dataclass(frozen=True)
class Line:
    """A line, or the outline of a band."""

    hue: int
    points: str
    """Of an SVG polyline or polygon."""
    title: str = ""
    kind: str = "main"
    """`main`, `thin` or `band`."""


@dataclass(frozen=True)
class Plot:
    """A picture for `templates/compare/_plot.svg`."""

    lines: tuple[Line, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    x_title: str
    y_title: str
    level: float | None
    """Percent from the top of the horizontal line at the baseline."""


@dataclass(frozen=True)
class Frame:
    """Data ranges of a plot, both from 0."""

    right: float
    top: float

    def points(self, corners: Sequence[tuple[float, float]]) -> str:
        """Corners in data units as points."""
        return " ".join(f"{self.x(x) * SPAN / 100:.1f},{self.y(y) * SPAN / 100:.1f}" for x, y in corners)

    def x(self, value: float) -> float:
        """Percent from the left."""
        return 100 * value / self.right

    def y(self, value: float) -> float:
        """Percent from the top."""
        return 100 - 100 * value / self.top


def best_so_far(groups: Sequence[Group], axis: Axis) -> Plot | None:
    """Median with its quartile band per group, and a thin line per seed where there are not too many."""
    runs = [run for group in groups for run in group.runs if run.records]
    if not runs:
        return None
    reach = max(group.reach(axis) for group in groups)
    right = max(reach, *(run.spent(axis.name) for run in runs)) or 1.0
    if axis.name == "evaluations":
        right = float(max(group.cap for group in groups))
    frame = Frame(right, 1.08 * max(1.0, *(run.records[-1].speedup or 0.0 for run in runs)))
    lines = [
        line for group in groups for line in _group_lines(group, axis, frame, thin=len(runs) <= MOST_LINES)
    ]
    return _plot(frame, lines, axis.title, "best speed-up so far", level=1.0)


def _group_lines(group: Group, axis: Axis, frame: Frame, *, thin: bool) -> list[Line]:
    band = group.band(axis)
    lines = []
    if band:
        upper, lower = (
            _steps([(x, high) for x, _, _, high in band]),
            _steps([(x, low) for x, _, low, _ in band]),
        )
        lines.append(Line(group.index, frame.points(upper + lower[::-1]), kind="band"))
    if thin or not band:
        lines += [
            Line(
                group.index,
                frame.points(
                    _steps([*run.curve(axis.name), (run.spent(axis.name), run.records[-1].speedup or 0.0)])
                ),
                f"{group.name}, seed {run.seed}",
                "thin" if band else "main",
            )
            for run in group.runs
            if run.records
        ]
    if band:
        median = _steps([(x, middle) for x, middle, _, _ in band])
        lines.append(Line(group.index, frame.points(median), f"{group.name}, median over seeds"))
    return lines


def fast_p_plot(cases: ByCase) -> Plot | None:
    """Share of (seed, case) pairs with a speed-up above p, group by group."""
    if not cases.cases:
        return None
    frame = Frame(1.05 * max(1.0, cases.top), 1.04)
    lines = []
    for group, corners in cases.fast_p:
        steps = _steps([*corners, (frame.right, corners[-1][1])])
        lines.append(Line(group.index, frame.points(steps), group.name))
    return _plot(frame, lines, "p, speed-up over the baseline", "share of cases faster than p", level=None)


def part_curves(curves: Sequence[tuple[int, str, Corners]]) -> Plot | None:
    """Best so far of structures against their own evaluations: hue, name and corners of each."""
    if not curves:
        return None
    ends = [corners[-1] for _, _, corners in curves]
    frame = Frame(1.04 * max(x for x, _ in ends), 1.08 * max(1.0, *(y for _, y in ends)))
    lines = [Line(hue, frame.points(_steps(corners)), name) for hue, name, corners in curves]
    return _plot(frame, lines, "evaluations of the structure", "best speed-up so far", level=1.0)


def _steps(points: Sequence[tuple[float, float]]) -> Corners:
    """A line that stays level until the next point."""
    corners: Corners = []
    for x, y in points:
        if corners:
            corners.append((x, corners[-1][1]))
        corners.append((x, y))
    return corners


def _plot(frame: Frame, lines: list[Line], x_title: str, y_title: str, level: float | None) -> Plot:
    x_ticks = tuple(Tick(frame.x(value), text) for value, text in ticks(frame.right))
    y_ticks = tuple(Tick(frame.y(value), text) for value, text in ticks(frame.top))
    place = frame.y(level) if level is not None else None
    return Plot(tuple(lines), x_ticks, y_ticks, x_title, y_title, place)


def ticks(end: float) -> list[tuple[float, str]]:
    """About five round numbers from 0 to an end above 0."""
    rough = end / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(size * power for size in (1, 2, 2.5, 5, 10) if size * power >= rough * 0.999)
    return [(n * step, f"{n * step:g}") for n in range(int(end / step * 1.0001) + 1)]
