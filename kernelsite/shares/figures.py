"""Figures of a result as files, and the card that chats show beside a link."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelsite.catalog.templatetags.show import interval, speedup, us
from kernelsite.shares import plots
from kernelsite.shares.canvas import CANVASES, new_canvas
from kernelsite.shares.canvas.canvas import Canvas, Stroke, Type

if TYPE_CHECKING:
    from kernelsite.compare.plots import Line, Plot
    from kernelsite.shares.document import Bar, Result
    from kernelsite.shares.plots import CasePlot

TEXT, MUTED, GRID, ACCENT = "#17202a", "#566270", "#e1e5ea", "#0067a8"
HUES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6bb1", "#7a8c00")
"""As the site's `hue-0` to `hue-7`."""
WIDTH, PLOT_HEIGHT = 900, 440
CARD = (1200, 630)
LEGEND_STEP, CASE_STEP, BAR_STEP = 20, 26, 24
MOST_LEGEND = 8
TITLE_SIGNS = 70
Area = tuple[float, float, float, float]
"""Left, top, width, height."""


def offered(result: Result) -> list[tuple[str, str]]:
    """Names and titles of the figures that a result has."""
    names = []
    if result.lines:
        names.append(("best-so-far", "Best so far"))
    if result.cases:
        names.append(("cases", "Case by case"))
    return names


def figure(result: Result, name: str, form: str) -> tuple[bytes, str] | None:
    """A figure as a file with its content type; None for a figure that the result does not have."""
    painted = None
    if name == "best-so-far" and (plot := plots.best_so_far(result)):
        painted = _plot_figure(result, plot, form)
    elif name == "cases" and (cases := plots.cases(result)):
        painted = _case_figure(result, cases, form)
    return (painted.done(), CANVASES[form][1]) if painted else None


def _plot_figure(result: Result, plot: Plot, form: str) -> Canvas:
    names = _legend(result)
    canvas = new_canvas(form, WIDTH, PLOT_HEIGHT + LEGEND_STEP * len(names))
    _head(canvas, result)
    paint_plot(canvas, plot, (64, 96, WIDTH - 100, PLOT_HEIGHT - 150))
    for place, (name, hue) in enumerate(names):
        y = PLOT_HEIGHT + LEGEND_STEP * place
        canvas.box((64, y - 10), (12, 12), HUES[hue % len(HUES)])
        canvas.text((84, y), name, Type(TEXT))
    return canvas


def _head(canvas: Canvas, result: Result) -> None:
    canvas.text((24, 34), short(result.title), Type(TEXT, 19, is_bold=True))
    words = [result.device, f"taken {result.taken_at[:10]}"]
    if result.headline:
        words.insert(0, f"{speedup(result.headline.speedup)} vs {result.headline.baseline or 'the baseline'}")
    canvas.text((24, 56), short(" · ".join(word for word in words if word), 110), Type(MUTED))


def _legend(result: Result) -> list[tuple[str, int]]:
    """Groups by colour, where there is more than one."""
    return [(group.name, group.hue) for group in result.groups][:MOST_LEGEND]


def paint_plot(canvas: Canvas, plot: Plot, area: Area, size: float = 13) -> None:
    """Axes, reference line and lines of a plot within an area; `size` is that of its words."""
    left, top, width, height = area
    for tick in plot.y_ticks:
        y = top + tick.place / 100 * height
        canvas.line([(left, y), (left + width, y)], Stroke(GRID))
        canvas.text((left - 8, y + size / 3), tick.text, Type(MUTED, size, anchor="end"))
    for tick in plot.x_ticks:
        x = left + tick.place / 100 * width
        canvas.text((x, top + height + 1.5 * size), tick.text, Type(MUTED, size, anchor="middle"))
    titles = Type(MUTED, size, anchor="middle")
    canvas.text((left + width / 2, top + height + 3 * size), plot.x_title, titles)
    canvas.text((left - 40, top - size), plot.y_title, Type(MUTED, size))
    if plot.level is not None:
        y = top + plot.level / 100 * height
        canvas.line([(left, y), (left + width, y)], Stroke(MUTED, 1.3, is_dashed=True))
        canvas.text((left + width, y - 5), plots.LEVEL_WORD, Type(MUTED, size, anchor="end"))
    for line in plot.lines:
        points = [(left + x / 1000 * width, top + y / 1000 * height) for x, y in _corners(line)]
        canvas.line(points, _stroke(line))


def _corners(line: Line) -> list[tuple[float, float]]:
    pairs = (pair.split(",") for pair in line.points.split())
    return [(float(x), float(y)) for x, y in pairs]


def _stroke(line: Line) -> Stroke:
    colour = HUES[line.hue % len(HUES)]
    return Stroke(colour, 1.4, opacity=0.6) if line.kind == "thin" else Stroke(colour, 3.0)


def _case_figure(result: Result, cases: CasePlot, form: str) -> Canvas:
    bars = sum(len(row) for _, _, row in cases.rows)
    canvas = new_canvas(form, WIDTH, 92 + CASE_STEP * len(cases.rows) + BAR_STEP * bars)
    _head(canvas, result)
    y = 92.0
    for name, sizes, row in cases.rows:
        canvas.text((24, y), short(name, 60), Type(TEXT, is_bold=True))
        canvas.text((WIDTH - 24, y), short(sizes, 70), Type(MUTED, anchor="end"))
        for bar in row:
            _paint_bar(canvas, bar, cases, y + 6)
            y += BAR_STEP
        y += CASE_STEP
    return canvas


def _paint_bar(canvas: Canvas, bar: Bar, cases: CasePlot, y: float) -> None:
    left = 190.0 if cases.has_names else 24.0
    room = WIDTH - left - 230
    if cases.has_names:
        canvas.text((24, y + 12), short(bar.name, 26), Type(MUTED))
    canvas.box((left, y + 2), (room, 12), "#eef1f4")
    if bar.speedup is None:
        canvas.text((left + room + 12, y + 12), "no time", Type(MUTED))
        return
    canvas.box((left, y + 2), (room * min(1.0, bar.speedup / cases.top), 12), HUES[bar.hue % len(HUES)])
    one = left + room / cases.top
    canvas.line([(one, y), (one, y + 16)], Stroke(TEXT, 1.2))
    spread = interval(bar)
    words = f"{speedup(bar.speedup)}{f'  ({spread})' if spread and bar.low != bar.high else ''}"
    canvas.text((left + room + 12, y + 12), words, Type(TEXT))


def card(result: Result) -> bytes:
    """A PNG of 1200 by 630: title, headline, curve."""
    canvas = new_canvas("png", *CARD, scale=1)
    canvas.box((0, 0), (12, CARD[1]), ACCENT)
    canvas.text((60, 84), short(result.title, 52), Type(TEXT, 40, is_bold=True))
    facts = [result.workload.title, result.device, result.taken_at[:10]]
    canvas.text((60, 130), short(" · ".join(word for word in facts if word), 90), Type(MUTED, 24))
    _card_result(canvas, result)
    if plot := plots.best_so_far(result):
        paint_plot(canvas, plot, (600, 220, 540, 290), 19)
    return canvas.done()


def _card_result(canvas: Canvas, result: Result) -> None:
    best = result.headline
    if best is None:
        canvas.text((60, 330), "no result yet", Type(MUTED, 48, is_bold=True))
        return
    canvas.text((56, 330), speedup(best.speedup), Type(ACCENT, 118, is_bold=True))
    lines = [
        f"the speed of {best.baseline or 'the baseline'}",
        f"95 % {interval(best)}" if interval(best) else "",
        f"{us(best.median_us)} per call" if best.median_us else "",
        "confirmed at the full tier" if best.is_confirmed else "not confirmed yet",
    ]
    for place, words in enumerate(word for word in lines if word):
        canvas.text((60, 386 + 36 * place), short(words, 38), Type(MUTED, 25))


def short(words: str, most: int = TITLE_SIGNS) -> str:
    """One line of at most so many signs."""
    line = " ".join(words.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "\N{HORIZONTAL ELLIPSIS}"
