"""What a search knows of one structure: its trials, its sources and where it came from."""

from __future__ import annotations

import math
from bisect import bisect_right, insort
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from search.records import EvaluationStatus, Interval, Knob, KnobValue, Stage
from search.steps import Item, Outcome, Variant

if TYPE_CHECKING:
    from collections.abc import Mapping

    from search.blueprint import Blueprint

Point = tuple[KnobValue, ...]
"""Knob values in the blueprint's order."""


def point_of(knobs: tuple[Knob, ...], values: Mapping[str, KnobValue]) -> Point:
    """Values in the order of the knobs; missing ones are at their default."""
    return tuple(values.get(knob.name, knob.default) for knob in knobs)


def is_inside(knobs: tuple[Knob, ...], point: Point) -> bool:
    """Whether every value is one of its knob's choices."""
    return all(value in knob.choices for knob, value in zip(knobs, point, strict=True))


@dataclass(frozen=True)
class Trial:
    """One program of a structure with its verdict."""

    number: int
    stage: Stage
    structure: str
    base: int
    """Draft whose source it has."""
    knobs: dict[str, KnobValue]
    status: EvaluationStatus | None
    speedup: Interval | None
    """Only of a pass."""
    median_us: float | None
    reused: bool = False
    """A duplicate of another trial's program."""

    @property
    def value(self) -> float:
        """Speed-up; 0 where there is none."""
        return self.speedup.value if self.speedup else 0.0

    @property
    def low(self) -> float:
        """Lower end of the speed-up's interval; 0 where there is none."""
        return self.speedup.low if self.speedup else 0.0

    @property
    def rank(self) -> tuple[float, int]:
        """Orders by speed-up; of equals the earlier one is higher."""
        return (self.value, -self.number)

    @property
    def cost(self) -> float | None:
        """What tuning minimises: -log(speed-up); None for a failure."""
        return -math.log(self.speedup.value) if self.speedup else None


@dataclass
class Structure:
    """One structure. Whoever adds to it keeps its fields free of the order of arrival."""

    fingerprint: str
    first: int
    """Step that brought it."""
    parent: str = ""
    blueprint: Blueprint | None = None
    trials: dict[int, Trial] = field(default_factory=dict)
    """Search trials with a verdict, by step number."""
    numbers: list[int] = field(default_factory=list)
    """Step numbers of the trials, sorted."""
    points: set[Point] = field(default_factory=set)
    """Points of the knob grid that were tried."""
    in_flight: dict[int, Item] = field(default_factory=dict)
    """Steps on it without an outcome; an exploration belongs to no structure yet."""
    charged: Counter[Stage] = field(default_factory=Counter)
    """Search trials that were charged, by stage."""
    device_us: Counter[Stage] = field(default_factory=Counter)
    """Microseconds of the device that they cost, by stage; whole numbers, so that their order cannot matter."""
    best: Trial | None = None
    """Fastest search trial."""
    bases: set[int] = field(default_factory=set)
    """Drafts whose source was seen to be correct."""
    drafts: set[int] = field(default_factory=set)
    """Drafts that were to write it and have an outcome."""
    failures: dict[int, Outcome] = field(default_factory=dict)
    """Incorrect programs and failures of the agent, by step number."""
    children: int = 0
    """Explorations asked from here."""
    refusals: int = 0
    """Explorations from here that brought nothing new."""
    prior: float | None = None
    """Log speed-up of its best program as a cost model predicts it."""
    promise: float | None = None
    """Highest such speed-up of a structure one move on."""
    is_planted: bool = False
    """Added by a reviewer, not grown."""

    @property
    def base(self) -> int | None:
        """Draft whose source its variants take; None as long as nothing was correct."""
        return min(self.bases, default=None)

    @property
    def lead(self) -> int | None:
        """Draft whose source is the fastest: where sources are edited, variants follow the edit that helped."""
        return self.best.base if self.best else self.base

    @property
    def knobs(self) -> tuple[Knob, ...]:
        """What may be tuned."""
        return self.blueprint.knobs if self.blueprint else ()

    @property
    def vain(self) -> int:
        """Trials since its best; all of them where nothing passed."""
        return len(self.numbers) - (bisect_right(self.numbers, self.best.number) if self.best else 0)

    def spent(self, stage: Stage) -> int:
        """Evaluations charged or held in a stage."""
        return self.charged[stage] + sum(item.stage is stage for item in self.in_flight.values())

    def taken(self) -> set[Point]:
        """Points of the grid that were tried or are in flight."""
        items = [item for item in self.in_flight.values() if isinstance(item, Variant)]
        return self.points.union(point_of(self.knobs, item.knobs) for item in items)

    def note(self, trial: Trial, *, charged: bool, device_seconds: float = 0.0) -> None:
        """Take in a search trial."""
        self.trials[trial.number] = trial
        insort(self.numbers, trial.number)
        point = point_of(self.knobs, trial.knobs)
        if is_inside(self.knobs, point):
            self.points.add(point)
        self.charged[trial.stage] += charged
        self.device_us[trial.stage] += round(1e6 * device_seconds) if charged else 0
        if trial.speedup and (self.best is None or trial.rank > self.best.rank):
            self.best = trial
