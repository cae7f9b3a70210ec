"""Mean regret against evaluations as one SVG: a panel per landscape, a line per strategy, both axes logarithmic."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from search.bench.summary import Entry, Report

WIDTH, HEIGHT = 300, 190
"""Of a panel with its labels, in pixels."""
LEFT, TOP, RIGHT, BOTTOM = 42, 24, 10, 28
COLUMNS = 3
LEGEND = 30
LOWEST = 0.002
"""Regret at the foot of a panel; lower is drawn there."""
COLOURS = (
    "#2457a6",
    "#c2410c",
    "#0f766e",
    "#7c3aed",
    "#6b7280",
    "#b8860b",
    "#be185d",
    "#15803d",
    "#0ea5e9",
    "#444",
)
DASHES = ("", "6 3", "2 2", "8 3 2 3", "1 3", "10 2")
"""Told apart without colour too."""


def svg(report: Report) -> str:
    """The figure; needs no font and no script."""
    strategies = list(dict.fromkeys(entry.strategy for entry in report.entries))
    columns = min(COLUMNS, len(report.landscapes))
    rows = math.ceil(len(report.landscapes) / columns)
    # The legend takes as many lines as it needs.
    legend = LEGEND + 18 * ((len(strategies) - 1) // (2 * columns))
    width, height = columns * WIDTH, rows * HEIGHT + legend
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        'font-size="11" role="img">',
        "<title>Mean regret against evaluations</title>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for place, landscape in enumerate(report.landscapes):
        entries = [one for one in report.entries if one.landscape == landscape["name"]]
        x, y = place % columns * WIDTH, place // columns * HEIGHT
        parts.append(f'<g transform="translate({x} {y})">')
        parts += _panel(str(landscape["name"]), str(landscape["label"]), report.budget, entries, strategies)
        parts.append("</g>")
    parts += _legend(strategies, rows * HEIGHT + 16, 2 * columns)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(name: str, label: str, budget: int, entries: list[Entry], strategies: list[str]) -> list[str]:
    parts = [f'<text x="{LEFT}" y="12" font-weight="bold">{escape(name)}</text>']
    parts.append(f'<text x="{LEFT}" y="21" font-size="8" fill="#555">{escape(label)}</text>')
    parts.append(f'<text x="{WIDTH - RIGHT}" y="21" font-size="8" text-anchor="end">mean regret</text>')
    parts.append(
        f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 3}" font-size="8" text-anchor="end">evaluations</text>'
    )
    for regret in (1.0, 0.3, 0.1, 0.03, 0.01, 0.003):
        y = _y(regret)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#e5e5e5"/>')
        parts.append(f'<text x="{LEFT - 4}" y="{y + 4:.1f}" text-anchor="end">{100 * regret:g} %</text>')
    for count in sorted({1, 3, 10, 30, 100, budget}):
        if count == budget or count < 0.75 * budget:
            x = _x(count, budget)
            parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 13}" text-anchor="middle">{count}</text>')
    for entry in entries:
        line = " ".join(f"{_x(count, budget):.1f},{_y(regret):.1f}" for count, regret in entry.curve)
        parts.append(f'<polyline points="{line}" fill="none" {_stroke(strategies.index(entry.strategy))}/>')
    return parts


def _legend(strategies: list[str], top: int, columns: int) -> list[str]:
    parts = []
    for place, name in enumerate(strategies):
        x, y = place % columns * WIDTH // 2 + 12, top + place // columns * 18
        parts.append(f'<path d="M{x} {y}h22" {_stroke(place)}/>')
        parts.append(f'<text x="{x + 28}" y="{y + 4}">{escape(name)}</text>')
    return parts


def _stroke(place: int) -> str:
    dash = DASHES[place % len(DASHES)]
    return f'stroke="{COLOURS[place % len(COLOURS)]}" stroke-width="1.8"' + (
        f' stroke-dasharray="{dash}"' if dash else ""
    )


def _x(count: int, budget: int) -> float:
    span = math.log(max(2, budget))
    return LEFT + (WIDTH - LEFT - RIGHT) * math.log(max(1, count)) / span


def _y(regret: float) -> float:
    share = math.log(max(LOWEST, min(1.0, regret))) / math.log(LOWEST)
    return TOP + (HEIGHT - TOP - BOTTOM) * share
