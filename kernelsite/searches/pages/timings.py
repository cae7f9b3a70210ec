"""Times of one evaluation as pictures: histogram, distribution, order of measuring, clocks. No JavaScript needed.

Positions are in the units of `WIDTH` x `HEIGHT`; `searches/candidate_timings.html` draws them.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from search.records import EvaluationStage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from search.records import CaseTiming
    from search.records import Evaluation as Record

WIDTH, HEIGHT = 600.0, 120.0
MOST_BINS = 24
FENCE = 3.5
"""Outliers lie further from the median than so many scaled median deviations (Iglewicz and Hoaglin 1993)."""
MAD_SCALE = 1.4826
MARGIN = 0.04
"""Empty share of the axis on each side."""


@dataclass(frozen=True)
class Bar:
    """One bar of the histogram."""

    x: float
    y: float
    width: float
    height: float
    told: str


@dataclass(frozen=True)
class Dot:
    """One sample in the order of measuring."""

    x: float
    y: float
    number: int
    us: float
    half_us: float | None
    whole_us: float | None
    """Short and long pass of the pair, where they were kept."""
    is_outlier: bool


@dataclass(frozen=True)
class Scale:
    """Time axis of a case's pictures; the baseline is on it where it is near enough to leave the samples readable."""

    low_us: float
    high_us: float

    def x(self, us: float) -> float:
        """Position of a time."""
        return round((us - self.low_us) / (self.high_us - self.low_us) * WIDTH, 2)

    @property
    def ticks(self) -> list[tuple[float, float]]:
        """Position and time of five marks."""
        step = (self.high_us - self.low_us) / 4
        return [(WIDTH * place / 4, self.low_us + step * place) for place in range(5)]


@dataclass(frozen=True)
class Clocks:
    """What the device said before and after the case was timed."""

    facts: tuple[tuple[str, str], ...]
    discarded: tuple[str, ...]
    """Why earlier blocks of measurements were thrown away."""


@dataclass(frozen=True)
class TimingRow:
    """A timed case."""

    case: CaseTiming
    samples: tuple[float, ...]
    scale: Scale
    bars: tuple[Bar, ...]
    steps: str
    """`d` of the distribution's path."""
    dots: tuple[Dot, ...]
    median_x: float
    baseline_x: float | None
    clocks: Clocks

    @property
    def has_passes(self) -> bool:
        """Whether the judge kept the passes that the samples are slopes of."""
        return bool(self.dots) and self.dots[0].whole_us is not None

    @property
    def outliers(self) -> int:
        """Samples far from the median; they are kept and marked, not left out."""
        return sum(dot.is_outlier for dot in self.dots)

    @property
    def of_floor(self) -> float | None:
        """Share of the floor in the median: 1 is as fast as moving the data allows."""
        return self.case.floor_us / self.case.median_us if self.case.floor_us else None


def timings(record: Record) -> list[TimingRow]:
    """Every timed case."""
    noted = {
        str(stage.details.get("case")): stage.details
        for stage in record.stages
        if stage.stage is EvaluationStage.TIMING
    }
    return [_row(case, noted.get(case.case, {})) for case in record.cases]


def _row(case: CaseTiming, details: Mapping[str, Any]) -> TimingRow:
    samples = case.samples_us
    scale = _scale(case)
    inside = scale.low_us <= case.baseline_us <= scale.high_us
    return TimingRow(
        case=case,
        samples=samples,
        scale=scale,
        bars=_bars(samples, scale),
        steps=_steps(samples, scale),
        dots=_dots(samples, scale, _passes(details)),
        median_x=scale.x(case.median_us),
        baseline_x=scale.x(case.baseline_us) if inside else None,
        clocks=_clocks(details),
    )


def _scale(case: CaseTiming) -> Scale:
    seen = [*case.samples_us, case.p10_us, case.median_us, case.p90_us]
    low, high = min(seen), max(seen)
    near = case.baseline_us if abs(case.baseline_us - case.median_us) <= 6 * (high - low) else case.median_us
    low, high = min(low, near), max(high, near)
    room = (high - low or 0.1 * high) * MARGIN
    return Scale(max(0.0, low - room), high + room)


def _bars(samples: Sequence[float], scale: Scale) -> tuple[Bar, ...]:
    if not samples:
        return ()
    low, high = min(samples), max(samples)
    bins = min(MOST_BINS, max(1, round(2 * len(samples) ** 0.5)))
    width = (high - low) / bins
    counts = [0] * bins
    for sample in samples:
        counts[min(bins - 1, int((sample - low) / width)) if width else 0] += 1
    drawn = max(4.0, scale.x(low + width) - scale.x(low) - 1) if width else 8.0
    return tuple(
        Bar(
            x=scale.x(low + width * place) - (0 if width else drawn / 2),
            y=round(HEIGHT * (1 - count / max(counts)), 2),
            width=round(drawn, 2),
            height=round(HEIGHT * count / max(counts), 2),
            told=f"{low + width * place:.4g} to {low + width * (place + 1):.4g} µs: {count}",
        )
        for place, count in enumerate(counts)
        if count
    )


def _steps(samples: Sequence[float], scale: Scale) -> str:
    """Share of samples at or below each time, as a staircase."""
    if not samples:
        return ""
    path = [f"M0 {HEIGHT:.1f}"]
    for place, sample in enumerate(sorted(samples), start=1):
        path.append(f"H{scale.x(sample):.1f}V{HEIGHT * (1 - place / len(samples)):.1f}")
    return "".join(path) + f"H{WIDTH:.0f}"


def _dots(samples: Sequence[float], scale: Scale, passes: Sequence[tuple[float, float]]) -> tuple[Dot, ...]:
    """Time runs to the right as in the other pictures, order of measuring down."""
    far = outliers(samples)
    step = HEIGHT / max(1, len(samples))
    pairs = passes if len(passes) == len(samples) else [(None, None)] * len(samples)
    return tuple(
        Dot(scale.x(us), round(step * (place + 0.5), 2), place + 1, us, half, whole, place in far)
        for place, (us, (half, whole)) in enumerate(zip(samples, pairs, strict=True))
    )


def outliers(samples: Sequence[float]) -> set[int]:
    """Places of the samples beyond the fence; none while there are fewer than five."""
    if len(samples) < 5:
        return set()
    middle = median(samples)
    spread = MAD_SCALE * median(abs(sample - middle) for sample in samples)
    return {place for place, sample in enumerate(samples) if spread and abs(sample - middle) > FENCE * spread}


_FACTS = {
    "sm_clock_mhz": ("SM clock", "MHz"),
    "temperature_c": ("Temperature", "°C"),
    "power_w": ("Power", "W"),
}


def _clocks(details: Mapping[str, Any]) -> Clocks:
    facts = [
        (title, f"{' → '.join(f'{value:g}' for value in values)} {unit}")
        for name, (title, unit) in _FACTS.items()
        if (values := _numbers(details.get(name)))
    ]
    if isinstance(throttles := details.get("throttles"), list):
        facts.append(("Throttled by", ", ".join(map(str, throttles)) or "nothing"))
    discarded = details.get("discarded")
    return Clocks(tuple(facts), tuple(map(str, discarded)) if isinstance(discarded, list) else ())


def _numbers(values: object) -> list[float]:
    return [value for value in values if isinstance(value, int | float)] if isinstance(values, list) else []


def _passes(details: Mapping[str, Any]) -> list[tuple[float, float]]:
    """Short and long pass of each kept pair, in microseconds."""
    pairs = details.get("passes_us")
    found = [_numbers(pair) for pair in pairs] if isinstance(pairs, list) else []
    return [(pair[0], pair[1]) for pair in found if len(pair) == 2]
