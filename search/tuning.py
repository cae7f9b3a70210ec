"""Knob proposals inside one structure: by a model of all structures together, or by Optuna's samplers.

A proposal is a function of the search's seed, the structure and the trials, in the order of their step
numbers: nothing else is remembered, so a replayed search proposes the same. Order of preference:

1. the default knobs;
2. hints: values that were good in other structures, for the knobs that have the same name;
3. the sampler's proposal;
4. where that was tried already, an untried neighbour of it, nearest first.

The sampler `shared` (`surrogate.py`) rates untried points by the trials of all structures; it can also say
which structure should be tried next. The others are Optuna's, through their ask interface, one structure at a
time; integer knobs are given to them as positions on their sorted choices, so that they know their order.
"""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

import numpy as np

from search.records import Knob, KnobValue, content_hash
from search.structure import Point, Structure, Trial, is_inside, point_of
from search.surrogate import Outlook, Shape, Surrogate, place_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import optuna
    from numpy.typing import NDArray
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler

_Key = tuple[tuple[str, ...], tuple[int, ...]]
"""Structures and trials that were looked at."""

SamplerName = Literal["shared", "tpe", "random", "gp"]

STARTUP_TRIALS = 10
"""Trials drawn at random before TPE or GP models the structure."""
LARGE_GRID = 1024
"""Grids up to this size are enumerated when untried neighbours are looked for."""
MOST_TRIALS = 256
"""Newest trials that the shared model looks at; a fit of 256 takes some milliseconds."""
REFIT = 8
"""Its hyperparameters are chosen anew after so many trials."""
BORROWED = 3
"""Fastest structures whose best values are looked at, with their neighbours, in every other structure."""
GREEDY = 4
"""Every so many trials the least expected cost is tried, not the highest expected improvement."""
SHARED_STARTUP = 6
"""Timed trials with other than default knobs, in the whole search, before the shared model is asked.

Until then points are random: a model of defaults and their neighbours knows nothing of what knobs do.
"""
LOOKED_AT = 512
"""Points of a structure that the shared model rates for one proposal."""
ENUMERATED = 8192
"""Grids up to this size are looked at as a whole by the shared model, larger ones in a sample."""
GLANCED_AT = 64
"""Points of a structure that it rates to say what the structure promises."""


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
        self._model = _Model()

    @property
    def is_shared(self) -> bool:
        """Whether structures learn from each other, so that `promises` can be asked for."""
        return self._sampler == "shared"

    def propose(
        self,
        structure: Structure,
        hints: Iterable[Mapping[str, KnobValue]] = (),
        others: Iterable[Structure] = (),
    ) -> dict[str, KnobValue] | None:
        """Knob values that were never tried in this structure; None when there are none left.

        Args:
            structure: what is tuned.
            hints: values that were good elsewhere.
            others: all structures of the search; only the shared sampler looks at them.
        """
        knobs = structure.knobs
        taken = structure.taken()
        if len(taken) >= grid_size(knobs):
            return None
        for values in ({}, *hints):
            point = _snapped(knobs, values)
            if point not in taken:
                return _named(knobs, point)
        seed = draw_seed(self._seed, structure.fingerprint, len(taken))
        if self.is_shared and (found := self._model.propose(structure, others, seed)):
            return _named(knobs, found)
        point = self._sampled(structure, seed)
        if point in taken:
            point = _untried_near(knobs, point, taken, random.Random(seed))
        return _named(knobs, point)

    def draw(self, structure: Structure, seed: int) -> dict[str, KnobValue] | None:
        """A point never tried in this structure, at random; None when there is none left."""
        knobs, taken = structure.knobs, structure.taken()
        if len(taken) >= grid_size(knobs):
            return None
        source = random.Random(seed)
        point = tuple(source.choice(knob.choices) for knob in knobs)
        return _named(knobs, _untried_near(knobs, point, taken, source) if point in taken else point)

    def race(
        self, structures: Iterable[Structure], others: Iterable[Structure], number: int
    ) -> list[tuple[Structure, dict[str, KnobValue]]]:
        """Structures with the program of each that should be tried next, most attractive first.

        Random ones until there is a model. Then the least expected cost is attractive on every `GREEDY`-th step,
        and the highest expected improvement on the best of the search on the others.

        Args:
            structures: those in the race.
            others: all of the search.
            number: of the step that is chosen.
        """
        racing = list(structures)
        found = self._model.rated(racing, others, self._seed, greedy=number % GREEDY == 0)
        if found:
            return [(each, _named(each.knobs, point)) for _, each, point in found]
        seed = draw_seed(self._seed, number)
        shuffled = random.Random(seed).sample(racing, len(racing))
        return [(each, knobs) for each in shuffled if (knobs := self.draw(each, seed)) is not None]

    def promises(self, structures: Iterable[Structure], others: Iterable[Structure]) -> dict[str, float]:
        """By fingerprint: expected improvement on the best of the search by one more trial; {} without a model."""
        found = self._model.rated(structures, others, self._seed, greedy=False)
        return {each.fingerprint: value for value, each, _ in found}

    def _sampled(self, structure: Structure, seed: int) -> Point:
        knobs, trials = structure.knobs, structure.trials
        measured = sum(trial.speedup is not None for trial in trials.values())
        if self._sampler in ("random", "shared") or len(trials) < STARTUP_TRIALS or measured < 2:
            source = random.Random(seed)
            return tuple(source.choice(knob.choices) for knob in knobs)
        study = self._studies.setdefault(structure.fingerprint, _Study(knobs))
        study.extend([trials[number] for number in sorted(trials)])
        return study.ask(_optuna_sampler(self._sampler, seed))


class _Model:
    """The surrogate over all structures, kept until a trial is added."""

    def __init__(self) -> None:
        self._key: _Key = ((), ())
        self._fit: Surrogate | None = None
        self._shape_key: _Key = ((), ())
        self._shape_found: Shape | None = None

    def propose(self, structure: Structure, others: Iterable[Structure], seed: int) -> Point | None:
        """The untried point of highest expected improvement on the structure's own best, or of least cost."""
        known = list(others)
        model = self._fitted(known)
        points = _looked_at(structure, known, LOOKED_AT, seed)
        if model is None or not points:
            return None
        outlook = model.outlook(structure, _places(points))
        own = structure.best.cost if structure.best else None
        over = float(model.stretched(own)) if own is not None else float(outlook.mean.max())
        greedy = len(structure.trials) % GREEDY == 0
        return points[int(np.argmax(_attraction(outlook, over, greedy=greedy)))]

    def rated(
        self, structures: Iterable[Structure], others: Iterable[Structure], seed: int, *, greedy: bool
    ) -> list[tuple[float, Structure, Point]]:
        """The most attractive point of each structure, most attractive first; [] without a model."""
        known = list(others)
        model = self._fitted(known)
        found = []
        for each in structures if model else ():
            points = _looked_at(each, known, GLANCED_AT, draw_seed(seed, each.fingerprint, len(each.trials)))
            if model and points:
                attraction = _attraction(model.outlook(each, _places(points)), 0.0, greedy=greedy)
                place = int(np.argmax(attraction))
                found.append((round(float(attraction[place]), 9), each, points[place]))
        return sorted(found, key=lambda rating: (-rating[0], rating[1].first))

    def _fitted(self, structures: Iterable[Structure]) -> Surrogate | None:
        known = sorted((each for each in structures if each.blueprint), key=lambda each: each.first)
        trials = [trial for each in known for trial in each.trials.values() if not trial.reused]
        trials.sort(key=lambda trial: trial.number)
        if sum(trial.speedup is not None and trial.number != trial.base for trial in trials) < SHARED_STARTUP:
            return None
        key = (tuple(each.fingerprint for each in known), tuple(trial.number for trial in trials))
        if key != self._key:
            shape = self._shape(known, trials[: len(trials) // REFIT * REFIT])
            self._key, self._fit = key, Surrogate(known, trials[-MOST_TRIALS:], shape)
        return self._fit

    def _shape(self, known: list[Structure], trials: list[Trial]) -> Shape | None:
        """Chosen from a whole number of `REFIT` trials, so that it is chosen seldom and yet never remembered."""
        key = (tuple(each.fingerprint for each in known), tuple(trial.number for trial in trials))
        if key != self._shape_key:
            chosen = Surrogate(known, trials[-MOST_TRIALS:]).best_shape() if trials else None
            self._shape_key, self._shape_found = key, chosen
        return self._shape_found


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


def _attraction(outlook: Outlook, over: float, *, greedy: bool) -> NDArray[np.float64]:
    """What makes a program worth a trial."""
    if greedy:
        return np.asarray(outlook.sound - outlook.mean)
    return outlook.improvement(over)


def _looked_at(structure: Structure, others: list[Structure], count: int, seed: int) -> list[Point]:
    """Untried points: all of a small grid; of a large one a sample and what is near the best ones known."""
    knobs = structure.knobs
    grid, taken = _grid(knobs), structure.taken()
    if len(grid) > count:
        grid = random.Random(seed).sample(grid, count)
        bests = sorted(
            (each.best for each in others if each.best), key=lambda trial: trial.rank, reverse=True
        )
        for trial in (structure.best, *bests[:BORROWED]):
            if trial is not None:
                point = _snapped(knobs, trial.knobs)
                grid += [point, *_neighbours(knobs, point)]
    return [point for point in dict.fromkeys(grid) if point not in taken]


@lru_cache(maxsize=256)
def _grid(knobs: tuple[Knob, ...]) -> list[Point]:
    """The whole grid, or a fixed sample of one with more than `ENUMERATED` points."""
    choices = [_ordered(knob) for knob in knobs]
    if math.prod(map(len, choices)) <= ENUMERATED:
        return list(itertools.product(*choices))
    source = random.Random(0)
    return [tuple(source.choice(values) for values in choices) for _ in range(ENUMERATED)]


def _neighbours(knobs: tuple[Knob, ...], point: Point) -> list[Point]:
    """Points that differ in one knob."""
    return [
        (*point[:place], value, *point[place + 1 :])
        for place, knob in enumerate(knobs)
        for value in _ordered(knob)
        if value != point[place]
    ]


def _places(points: list[Point]) -> NDArray[np.float64]:
    return np.array([[place_of(value) for value in point] for point in points], dtype=float).reshape(
        len(points), -1
    )


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
