"""A small synthetic world of structures and knobs, and ways to play a search in it.

A structure is one word per decision; growing changes one decision. Speed-ups follow from the words, from
pairs of words and from how far the knobs are from the structure's own optimum. Some structures need a
repair, some never work, some knob points fail. Everything is drawn from the world's seed.
"""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass, field
from functools import cache

from search.blueprint import Blueprint, KernelPlan
from search.engine import Search, SearchResult
from search.records import DraftKind, EvaluationStatus, Interval, Knob, KnobValue, Language, Stage
from search.settings import Budget, SearchSettings, StageSettings
from search.steps import Draft, Item, Outcome, Step, Variant
from search.structure import Structure, Trial
from search.usage import Usage

NOISE = 0.01
"""Relative error of one measurement, one sigma."""


def settings(strategy: str = "two_stage", evaluations: int = 24, **changes) -> SearchSettings:
    # The default sampler models and takes its time: tests of it ask for it.
    stages = StageSettings(**({"sampler": "random"} | changes.pop("stages", {})))
    budget = Budget(evaluations=evaluations, **changes.pop("budget", {}))
    values = {
        "workload": "synthetic",
        "workload_hash": "0" * 64,
        "library": "synthetic",
        "library_hash": "1" * 64,
        "strategy": strategy,
        "language": Language.CPP,
        "device_class": "cpu",
        "budget": budget,
        "stages": stages,
    }
    return SearchSettings(**(values | changes))


@dataclass(frozen=True)
class World:
    """`words` per decision and `points` per knob; `broken` is the share of structures that never work."""

    seed: int = 0
    words: tuple[int, ...] = (3, 2, 2)
    points: tuple[int, ...] = (4, 3)
    broken: float = 0.1
    clumsy: float = 0.2
    """Share of structures whose first source does not compile."""
    failing: float = 0.1
    """Share of knob points that fail."""
    spread: float = 0.5
    """Sigma of log speed-up between words."""
    gain: float = 0.8
    """Log gain of the best knobs over the worst."""

    def structures(self) -> list[Blueprint]:
        return [self.blueprint(choice) for choice in itertools.product(*(range(n) for n in self.words))]

    @cache  # noqa: B019  (worlds live as long as the test)
    def blueprint(self, choice: tuple[int, ...]) -> Blueprint:
        names = [f"decision{place}" for place in range(len(choice))]
        return Blueprint(
            workload="synthetic",
            actions=tuple(f"a{place}{word}" for place, word in enumerate(choice) if word),
            choices={name: f"w{word}" for name, word in zip(names, choice, strict=True)},
            kernels=(KernelPlan(name="k", computes="it", parallel=("M",)),),
            knobs=tuple(
                Knob(name=f"K{place}", choices=tuple(2**power for power in range(count)), default=1)
                for place, count in enumerate(self.points)
            ),
        )

    def choice(self, fingerprint: str) -> tuple[int, ...]:
        return self._choices()[fingerprint]

    @cache  # noqa: B019
    def _choices(self) -> dict[str, tuple[int, ...]]:
        every = itertools.product(*(range(n) for n in self.words))
        return {self.blueprint(choice).fingerprint: choice for choice in every}

    def draw(self, *what: object) -> random.Random:
        return random.Random(repr((self.seed, *what)))

    def is_broken(self, choice: tuple[int, ...]) -> bool:
        return any(choice) and self.draw("broken", choice).random() < self.broken

    def speedup(self, choice: tuple[int, ...], knobs: dict[str, KnobValue]) -> float | None:
        """True speed-up; None where it fails."""
        point = tuple(int(math.log2(int(knobs[f"K{place}"]))) for place in range(len(self.points)))
        if any(point) and self.draw("fails", choice, point).random() < self.failing:
            return None
        value = sum(self.draw("word", place, word).gauss(0, self.spread) for place, word in enumerate(choice))
        for pair in itertools.combinations(enumerate(choice), 2):
            value += self.draw("pair", pair).gauss(0, self.spread / 3)
        for place, count in enumerate(self.points):
            optimum = self.draw("optimum", choice[place % len(choice)], place).uniform(0, count - 1)
            away = abs(point[place] - optimum) / max(1, count - 1)
            value += self.gain / len(self.points) * (1 - away) ** 2
        return math.exp(value)

    @cache  # noqa: B019
    def best(self) -> float:
        """Highest true speed-up of the world."""
        grid = [range(count) for count in self.points]
        found = []
        for choice in self._choices().values():
            if self.is_broken(choice):
                continue
            for point in itertools.product(*grid):
                found.append(self.speedup(choice, {f"K{p}": 2**at for p, at in enumerate(point)}) or 0.0)
        return max(found)


@dataclass
class Player:
    """Answers the steps of one search in a world, as agent and device together."""

    world: World
    outcomes: dict[int, Outcome] = field(default_factory=dict)

    def answer(self, item: Item) -> Outcome:
        outcome = self._variant(item) if isinstance(item, Variant) else self._draft(item)
        self.outcomes[item.number] = outcome
        return outcome

    def _variant(self, item: Variant) -> Outcome:
        return self._measured(item.number, self.world.choice(item.structure), dict(item.knobs))

    def _draft(self, draft: Draft) -> Outcome:
        usage = Usage(calls=1, prompt_tokens=800, completion_tokens=200, cost_usd=0.01)
        if draft.kind is DraftKind.JUDGE:
            return Outcome(failure="no beliefs", usage=usage)
        if draft.kind is DraftKind.REFINE:
            return self._refined(draft).model_copy(update={"usage": usage})
        choice = self._chosen(draft)
        if choice is None:
            return Outcome(failure="nothing new from here", usage=usage)
        blueprint = self.world.blueprint(choice)
        first_try = draft.kind is not DraftKind.REPAIR
        clumsy = first_try and self.world.draw("clumsy", choice).random() < self.world.clumsy
        knobs = {knob.name: knob.default for knob in blueprint.knobs}
        outcome = self._measured(draft.number, choice, knobs, fails=clumsy or self.world.is_broken(choice))
        return outcome.model_copy(update={"blueprint": blueprint, "usage": usage})

    def _refined(self, draft: Draft) -> Outcome:
        """The base with one knob changed, as the playbook does it; a failure once all neighbours were tried."""
        choice = self.world.choice(draft.structure)
        base = self.outcomes[draft.base].knobs
        tried = [each.knobs for each in self.outcomes.values() if each.structure == draft.structure]
        knobs = self.world.blueprint(choice).knobs
        near = [base | {knob.name: value} for knob in knobs for value in knob.choices]
        new = [each for each in near if each not in tried]
        if not new:
            return Outcome(structure=draft.structure, failure="every neighbour was tried")
        return self._measured(draft.number, choice, random.Random(draft.seed).choice(new))

    def _chosen(self, draft: Draft) -> tuple[int, ...] | None:
        if draft.kind is not DraftKind.EXPLORE:
            return self.world.choice(draft.structure) if draft.structure else (0,) * len(self.world.words)
        parent = self.world.choice(draft.structure)
        grown = [
            (*parent[:place], word, *parent[place + 1 :])
            for place, count in enumerate(self.world.words)
            for word in range(count)
        ]
        known = set(draft.exclude)
        new = [choice for choice in grown if self.world.blueprint(choice).fingerprint not in known]
        return random.Random(draft.seed).choice(new) if new else None

    def _measured(
        self, number: int, choice: tuple[int, ...], knobs: dict[str, KnobValue], *, fails: bool = False
    ) -> Outcome:
        structure = self.world.blueprint(choice).fingerprint
        told = {
            "structure": structure,
            "source_hash": "s" + structure,
            "candidate": f"{structure}{sorted(knobs.items())}",
            "knobs": knobs,
            "charged": True,
            "device_seconds": 1.0,
        }
        value = None if fails else self.world.speedup(choice, knobs)
        if value is None:
            return Outcome(status=EvaluationStatus.COMPILE_ERROR, **told)
        value *= math.exp(self.world.draw("noise", number).gauss(0, NOISE))
        interval = Interval(value=value, low=value * (1 - 2 * NOISE), high=value * (1 + 2 * NOISE))
        return Outcome(status=EvaluationStatus.PASSED, speedup=interval, median_us=100 / value, **told)


def infra(outcome: Outcome) -> Outcome:
    """The same step when the device failed under it."""
    gone = {"status": EvaluationStatus.INFRA_ERROR, "speedup": None, "median_us": None, "charged": False}
    return outcome.model_copy(update=gone)


def lost(outcome: Outcome) -> Outcome:
    """The same step when nothing ever came back."""
    return Outcome(failure="lost", usage=outcome.usage)


def play(chosen: SearchSettings, world: World, limit: int = 10_000) -> tuple[Search, SearchResult]:
    """One search to its end, one step at a time."""
    search, player = Search(chosen), Player(world)
    for _ in range(limit):
        asked = search.ask(1)
        if not asked:
            return search, search.result()
        search.tell(asked[0].number, player.answer(asked[0]))
    raise AssertionError("the search never ends")


def history(search: Search) -> list[Step]:
    return [search.archive.steps[number] for number in sorted(search.archive.steps)]


def structure(
    knobs: tuple[Knob, ...], trials: dict[int, tuple[dict[str, KnobValue], float | None]]
) -> Structure:
    """A structure with trials by step number: knob values and speed-up, None for a failure."""
    blueprint = Blueprint(workload="w", actions=(), choices={"a": "b"}, kernels=(), knobs=knobs)
    made = Structure(fingerprint=blueprint.fingerprint, first=1, blueprint=blueprint)
    for number, (values, speedup) in trials.items():
        interval = Interval(value=speedup, low=speedup, high=speedup) if speedup else None
        status = EvaluationStatus.PASSED if speedup else EvaluationStatus.COMPILE_ERROR
        trial = Trial(number, Stage.TUNE, made.fingerprint, 1, values, status, interval, None)
        made.note(trial, charged=True)
    return made
