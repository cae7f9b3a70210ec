"""Knob proposals inside one structure, by Optuna samplers through their ask interface.

A proposal is a function of the search's seed, the structure and its trials, in the order of their step
numbers: nothing else is remembered, so a replayed search proposes the same. Order of preference:

1. the default knobs;
2. hints: values that were good in other structures, for the knobs that have the same name;
3. the sampler's proposal;
4. where that was tried already, an untried neighbour of it, nearest first.

Integer knobs are given to the sampler as positions on their sorted choices, so that it knows their order.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

from search.records import Knob, KnobValue, content_hash
from search.structure import Point, Structure, Trial, is_inside, point_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import optuna
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler

SamplerName = Literal["tpe", "random", "gp"]

STARTUP_TRIALS = 10
"""Trials drawn at random before TPE or GP models the structure."""
LARGE_GRID = 1024
"""Grids up to this size are enumerated when untried neighbours are looked for."""


class Tuner:
    """Proposes knob values. Studies are a cache: they are rebuilt whenever history does not extend them."""

    def __init__(self, seed: int, sampler: SamplerName) -> None:
        """Prepare for one search.

        Raises:
            ValueError: the sampler needs a package that is not installed.
        """
        if sampler == "gp" and find_spec("torch") is None:
            raise ValueError("sampler gp needs torch, which is not installed; tpe and random do not")
        self._seed = seed
        self._sampler = sampler
        self._studies: dict[str, _Study] = {}

    def propose(
        self, structure: Structure, hints: Iterable[Mapping[str, KnobValue]] = ()
    ) -> dict[str, KnobValue] | None:
        """Knob values that were never tried in this structure; None when there are none left."""
        knobs = structure.knobs
        taken = structure.taken()
        if len(taken) >= grid_size(knobs):
            return None
        for values in ({}, *hints):
            point = _snapped(knobs, values)
            if point not in taken:
                return _named(knobs, point)
        seed = draw_seed(self._seed, structure.fingerprint, len(taken))
        point = self._sampled(structure, seed)
        if point in taken:
            point = _untried_near(knobs, point, taken, random.Random(seed))
        return _named(knobs, point)

    def _sampled(self, structure: Structure, seed: int) -> Point:
        knobs, trials = structure.knobs, structure.trials
        measured = sum(trial.speedup is not None for trial in trials.values())
        if self._sampler == "random" or len(trials) < STARTUP_TRIALS or measured < 2:
            source = random.Random(seed)
            return tuple(source.choice(knob.choices) for knob in knobs)
        study = self._studies.setdefault(structure.fingerprint, _Study(knobs))
        study.extend([trials[number] for number in sorted(trials)])
        return study.ask(_optuna_sampler(self._sampler, seed))


@dataclass
class _Study:
    """An Optuna study of one structure, and the trials it was told."""

    knobs: tuple[Knob, ...]
    told: list[int] = field(default_factory=list)
    study: optuna.Study | None = None

    def extend(self, trials: Sequence[Trial]) -> None:
        """Bring the study to exactly these trials, in this order."""
        numbers = [trial.number for trial in trials]
        if self.study is None or numbers[: len(self.told)] != self.told:
            self.study, self.told = _new_study(), []
        for trial in trials[len(self.told) :]:
            point = point_of(self.knobs, trial.knobs)
            if is_inside(self.knobs, point):
                self.study.add_trial(_frozen(self.knobs, point, trial.cost))
        self.told = numbers

    def ask(self, sampler: BaseSampler) -> Point:
        """Sample a point. The trial that Optuna opens for it is failed at once, and samplers ignore those."""
        from optuna.trial import TrialState

        assert self.study is not None
        self.study.sampler = sampler
        trial = self.study.ask(_space(self.knobs))
        self.study.tell(trial, state=TrialState.FAIL)
        return tuple(_ordered(knob)[int(trial.params.get(knob.name, 0))] for knob in self.knobs)


def draw_seed(seed: int, *parts: str | int) -> int:
    """32 bits from a seed and what it is for; equal on every machine."""
    return int(content_hash([seed, *parts])[:8], 16)


def grid_size(knobs: tuple[Knob, ...]) -> int:
    """Points of the grid; 1 where there are no knobs."""
    size = 1
    for knob in knobs:
        size *= len(set(knob.choices))
    return size


def _new_study() -> optuna.Study:
    import optuna  # half a second: only searches that tune pay for it

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna.create_study(direction="minimize")


def _optuna_sampler(name: SamplerName, seed: int) -> BaseSampler:
    import optuna

    if name == "gp":
        return optuna.samplers.GPSampler(seed=seed, n_startup_trials=0, deterministic_objective=False)
    return optuna.samplers.TPESampler(seed=seed, n_startup_trials=0, constant_liar=False)


def _space(knobs: tuple[Knob, ...]) -> dict[str, BaseDistribution]:
    """Positions on the choices: integers keep their order, words have none."""
    from optuna.distributions import CategoricalDistribution, IntDistribution

    space: dict[str, BaseDistribution] = {}
    for knob in knobs:
        positions = len(_ordered(knob))
        if positions == 1:
            continue
        has_order = all(type(choice) is int for choice in knob.choices)
        space[knob.name] = (
            IntDistribution(0, positions - 1)
            if has_order
            else CategoricalDistribution(tuple(range(positions)))
        )
    return space


def _frozen(knobs: tuple[Knob, ...], point: Point, cost: float | None) -> optuna.trial.FrozenTrial:
    """A finished trial; a failure is pruned, which TPE ranks below every success."""
    from optuna.trial import TrialState, create_trial

    space = _space(knobs)
    params = {
        knob.name: _ordered(knob).index(value)
        for knob, value in zip(knobs, point, strict=True)
        if knob.name in space
    }
    state = TrialState.PRUNED if cost is None else TrialState.COMPLETE
    return create_trial(state=state, value=cost, params=params, distributions=space)


def _ordered(knob: Knob) -> list[KnobValue]:
    choices = list(dict.fromkeys(knob.choices))
    return sorted(choices) if all(type(choice) is int for choice in choices) else choices


def _snapped(knobs: tuple[Knob, ...], values: Mapping[str, KnobValue]) -> Point:
    """The values where they are choices, defaults elsewhere."""
    return tuple(
        values[knob.name] if values.get(knob.name) in knob.choices else knob.default for knob in knobs
    )


def _named(knobs: tuple[Knob, ...], point: Point) -> dict[str, KnobValue]:
    return {knob.name: value for knob, value in zip(knobs, point, strict=True)}


def _untried_near(knobs: tuple[Knob, ...], point: Point, taken: set[Point], source: random.Random) -> Point:
    """An untried point with as few changed knobs, and as short steps, as can be found."""
    if grid_size(knobs) > LARGE_GRID:
        candidates = _mutations(knobs, point, source)
    else:
        grid = itertools.product(*(_ordered(knob) for knob in knobs))
        candidates = iter(sorted(grid, key=lambda other: (_apart(knobs, point, other), source.random())))
    return next(candidate for candidate in candidates if candidate not in taken)


def _mutations(knobs: tuple[Knob, ...], point: Point, source: random.Random) -> Iterable[Point]:
    """Endless: one knob changed at random, then two, …, wrapping around."""
    for attempt in itertools.count():
        changed = list(point)
        for position in source.sample(range(len(knobs)), 1 + attempt // 64 % len(knobs)):
            changed[position] = source.choice(knobs[position].choices)
        yield tuple(changed)


def _apart(knobs: tuple[Knob, ...], one: Point, other: Point) -> float:
    """Changed knobs, each a little more the further it moved on its choices."""
    total = 0.0
    for knob, here, there in zip(knobs, one, other, strict=True):
        if here != there:
            choices = _ordered(knob)
            total += 1 + abs(choices.index(here) - choices.index(there)) / len(choices)
    return total
