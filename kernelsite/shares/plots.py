"""Figures of a `Result`: best so far as a `compare.plots.Plot`, which pages stretch and `canvas/` paints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelsite.compare import plots

if TYPE_CHECKING:
    from kernelsite.shares.document import Bar, Line, Result

FIGURES = ("best-so-far", "cases")
"""Names of figures in addresses."""
LEVEL_WORD = "1\N{MULTIPLICATION SIGN} baseline"


def best_so_far(result: Result) -> plots.Plot | None:
    """Speed-up against evaluations; None before the first record."""
    if not result.lines:
        return None
    right = max(line.end for line in result.lines) or 1.0
    top = max(1.0, *(line.records[-1][1] for line in result.lines))
    frame = plots.Frame(right, 1.08 * top)
    return plots.Plot(
        lines=tuple(_drawn(line, frame) for line in result.lines),
        x_ticks=tuple(plots.Tick(frame.x(value), text) for value, text in plots.ticks(right)),
        y_ticks=tuple(plots.Tick(frame.y(value), text) for value, text in plots.ticks(frame.top)),
        x_title=result.axis,
        y_title="best speed-up so far",
        level=frame.y(1.0),
    )


def _drawn(line: Line, frame: plots.Frame) -> plots.Line:
    corners: list[tuple[float, float]] = []
    for x, y in line.records:
        if corners:
            corners.append((x, corners[-1][1]))
        corners.append((x, y))
    corners.append((line.end, corners[-1][1]))
    return plots.Line(line.hue, frame.points(corners), line.name, "thin" if line.is_thin else "main")


@dataclass(frozen=True)
class CasePlot:
    """Bars by case, on one scale from 0 to `top`."""

    rows: tuple[tuple[str, str, tuple[Bar, ...]], ...]
    """Name, sizes, bars."""
    top: float
    has_names: bool
    """Several groups, so that bars need their names."""


def cases(result: Result) -> CasePlot | None:
    """Speed-up in every case; None where nothing was timed."""
    if not result.cases:
        return None
    bars = [bar for row in result.cases for bar in row.bars]
    top = max((bar.high or bar.speedup or 0.0 for bar in bars), default=0.0)
    rows = tuple((row.name, row.sizes, row.bars) for row in result.cases)
    return CasePlot(rows, 1.04 * max(1.0, top), bool(result.groups))
