"""Numbers of the benchmark: medians and spreads, ratios, what was wanted, and the table."""

from __future__ import annotations

import operator
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

Summary = dict[str, float]
_TENTH = 10


def summary(values: Sequence[float]) -> Summary:
    """Median, where the middle 80 % lie, and how many there are; nothing but the count for no values."""
    if not values:
        return {"n": 0}
    if len(values) == 1:
        return {"n": 1, "median": values[0], "p10": values[0], "p90": values[0]}
    tenths = statistics.quantiles(values, n=10, method="inclusive")
    return {"n": len(values), "median": statistics.median(values), "p10": tenths[0], "p90": tenths[-1]}


def spread(values: Sequence[float]) -> float:
    """Largest minus smallest, as a share of the median."""
    return (max(values) - min(values)) / statistics.median(values)


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    section: str
    """Key in the document of results."""
    figure: str
    """Key of the summary in the section."""
    title: str


ROWS = [
    Row("ours", "wall_s", "ours, isolated, fast tier"),
    Row("ours", "device_s", "  of it holding the device"),
    Row("ours_full", "wall_s", "ours, isolated, full tier"),
    Row("ours_batch", "wall_s", "ours, batch of knob variants of one source"),
    Row("bare", "wall_s", "bare loop in one process"),
    Row("fork", "wall_s", "fork from a CUDA-free zygote"),
    Row("fresh", "wall_s", "fresh Python"),
    Row("fib_persistent", "wall_s", "flashinfer-bench persistent (no isolation)"),
    Row("fib_isolated", "wall_s", "flashinfer-bench isolated"),
]


@dataclass(frozen=True)
class Target:
    """A figure that the project wants, in seconds or as a ratio of medians."""

    title: str
    wanted: float
    of: tuple[str, str]
    over: tuple[str, str] | None = None
    at_least: bool = False

    def judge(self, results: dict[str, Any]) -> dict[str, Any]:
        """The figure beside what is wanted; `met` is None where a section has no figure."""
        found = median_of(results, *self.of)
        if self.over is not None:
            below = median_of(results, *self.over)
            found = found / below if found is not None and below else None
        met = None
        if found is not None:
            met = (operator.ge if self.at_least else operator.le)(found, self.wanted)
        sign = ">=" if self.at_least else "<="
        return {"title": self.title, "wanted": f"{sign} {self.wanted}", "found": found, "met": met}


_OURS, _BATCH = ("ours", "wall_s"), ("ours_batch", "wall_s")
TARGETS = [
    Target("fast tier, wall s per candidate", 1.6, _OURS),
    Target("fast tier, device s per candidate", 0.9, ("ours", "device_s")),
    Target("full tier, wall s per candidate", 6.0, ("ours_full", "wall_s")),
    Target("batch, wall s per variant", 0.4, _BATCH),
    Target("flashinfer-bench isolated / ours", 10.0, ("fib_isolated", "wall_s"), _OURS, at_least=True),
    Target("fresh Python / ours", 3.5, ("fresh", "wall_s"), _OURS, at_least=True),
    Target("flashinfer-bench isolated / batch", 40.0, ("fib_isolated", "wall_s"), _BATCH, at_least=True),
    Target("large kernel: |slope / trusted launch - 1|", 0.01, ("accuracy", "large_slope_off")),
    Target("large kernel: |do_bench / trusted launch - 1|", 0.01, ("accuracy", "large_do_bench_off")),
    Target("large kernel: spread of ten repeats", 0.01, ("accuracy", "large_spread")),
    Target("small kernel: spread of ten repeats", 0.01, ("accuracy", "small_spread")),
    Target("large kernel: |tenth job / first - 1|", 0.02, ("accuracy", "large_tenth_off")),
    Target("small kernel: |tenth job / first - 1|", 0.02, ("accuracy", "small_tenth_off")),
]


def derive(results: dict[str, Any]) -> None:
    """Add to `accuracy` what follows from its medians and from the clocks of others."""
    accuracy, clocks = results.get("accuracy", {}), results.get("clocks", {})
    for size in ("large", "small"):
        ours = _times(accuracy, size)
        if len(ours) > 1:
            accuracy[f"{size}_spread"] = spread(ours)
        if len(ours) >= _TENTH:
            accuracy[f"{size}_tenth_off"] = abs(ours[_TENTH - 1] / ours[0] - 1)
        for clock, theirs in clocks.get(size, {}).items():
            if ours and theirs:
                accuracy[f"{size}_{clock}_off"] = abs(statistics.median(theirs) / statistics.median(ours) - 1)
    ours, slopes = _times(accuracy, "large"), _times(accuracy, "large_slope")
    if ours and slopes:
        accuracy["large_slope_off"] = abs(statistics.median(slopes) / statistics.median(ours) - 1)


def _times(accuracy: dict[str, Any], name: str) -> list[float]:
    return [one for one in accuracy.get(name, {}).get("median_us", []) if one is not None]


def median_of(results: dict[str, Any], section: str, figure: str) -> float | None:
    """A figure of a section: the median of a summary, or a plain number; None where there is none."""
    found = results.get(section, {}).get(figure)
    if isinstance(found, dict):
        found = found.get("median")
    return None if found is None else float(found)


def ratios(results: dict[str, Any]) -> dict[str, float]:
    """Median seconds of every runner over those of our fast tier."""
    ours = median_of(results, *_OURS)
    found = {(row.section, row.figure): median_of(results, row.section, row.figure) for row in ROWS}
    return {f"{key[0]}.{key[1]}": seconds / ours for key, seconds in found.items() if seconds and ours}


def table(results: dict[str, Any]) -> str:
    """What a person reads."""
    lines = [f"{'seconds per candidate':44} {'n':>3} {'median':>8} {'p10':>8} {'p90':>8} {'/ ours':>7}"]
    times = ratios(results)
    for row in ROWS:
        section = results.get(row.section, {})
        figures = section.get(row.figure) or {"n": 0}
        if not figures["n"]:
            lines.append(f"{row.title:44}   - {' '.join(section.get('error', 'not run').split())[-200:]}")
            continue
        ratio = times.get(f"{row.section}.{row.figure}", 0.0)
        numbers = " ".join(f"{figures[name]:8.3f}" for name in ("median", "p10", "p90"))
        lines.append(f"{row.title:44} {figures['n']:3} {numbers} {ratio:7.2f}")
    lines.append("")
    for target in results.get("targets", []):
        found = "-" if target["found"] is None else f"{target['found']:.4g}"
        mark = {True: "met", False: "MISSED", None: "no figure"}[target["met"]]
        lines.append(f"{target['title']:50} {target['wanted']:>8}  {found:>8}  {mark}")
    return "\n".join(lines)
