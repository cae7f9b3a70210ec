"""Baselines that see one flat space in which every structure is already written: random and Optuna's TPE.

The structure is one more parameter, and each structure has knobs of its own beneath it. On the axis of model
calls each structure they touch costs its call and the failed ones before it.
"""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any, Protocol

from search.bench.trace import Look, Program, Trace, make_trace
from search.landscapes.answer import answer
from search.records import EvaluationRequest, EvaluationStatus
from search.tuning import draw_seed

if TYPE_CHECKING:
    from collections.abc import Callable

    from optuna.distributions import BaseDistribution

    from search.landscapes.landscape import Landscape
    from search.records import Evaluation, Knob

SHARED = "structure"
"""Name of the parameter that chooses the structure."""
REPEATS = 20
"""Proposals of points already seen after which another point is taken at random; they cost nothing."""


class Chooser(Protocol):
    """Proposes programs and learns what they were worth."""

    def propose(self) -> Program:
        """The next program, one not seen before."""
        ...

    def learn(self, program: Program, speedup: float | None) -> None:
        """What was measured; None for a failure."""
        ...


def play_flat(landscape: Landscape, strategy: str, seed: int, budget: int, failure: float) -> Trace:
    """Search once with a baseline; arguments as for `episode.play`."""
    started = time.perf_counter()
    chooser = FLAT[strategy](landscape, seed)
    calls, seen, looks = 0, set[int](), list[Look]()
    draw = random.Random(draw_seed(seed, "failures"))
    for _ in range(len(landscape.rows)):
        if len(looks) == budget:
            break
        program = chooser.propose()
        is_new = program[0] not in seen
        if is_new:
            seen.add(program[0])
            calls += _calls(draw, failure)
        evaluation = _evaluated(landscape, program, seed)
        passed = evaluation.status is EvaluationStatus.PASSED
        speedup = evaluation.speedup.value if evaluation.speedup and passed else None
        chooser.learn(program, speedup)
        if evaluation.charged:
            looks.append(Look(program, speedup, calls, tunes=not is_new))
    seconds = time.perf_counter() - started
    return make_trace(landscape, strategy, seed, looks, None, calls, seconds)


def _calls(draw: random.Random, failure: float) -> int:
    """Calls until one brings a source."""
    calls = 1
    while draw.random() < failure:
        calls += 1
    return calls


def _evaluated(landscape: Landscape, program: Program, seed: int) -> Evaluation:
    structure = landscape.structures[program[0]]
    knobs = {knob.name: value for knob, value in zip(structure.blueprint.knobs, program[1], strict=True)}
    request = EvaluationRequest(
        id="flat",
        token="bench",
        workload=landscape.workload.dump(),
        candidate=structure.candidate(landscape.language, knobs),
        device_class=f"recorded:{landscape.name}",
    )
    return answer(landscape, request, seed)


class RandomPoints:
    """Every point once, in random order."""

    def __init__(self, landscape: Landscape, seed: int) -> None:
        """Shuffle the points."""
        self._left = sorted(landscape.rows, key=repr)
        random.Random(seed).shuffle(self._left)

    def propose(self) -> Program:
        """See `Chooser`."""
        return self._left.pop()

    def learn(self, program: Program, speedup: float | None) -> None:
        """Nothing is learned."""


class FlatTpe:
    """Optuna's TPE, multivariate and grouped, over structure and conditional knobs; ten random points first."""

    def __init__(self, landscape: Landscape, seed: int) -> None:
        """Open a study in memory."""
        import optuna

        from search.bench.lazy_tpe import lazy_tpe

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._seen: dict[str, BaseDistribution] = {}
        sampler = lazy_tpe(seed, SHARED, self._seen)
        self._study = optuna.create_study(sampler=sampler, direction="minimize")
        self._landscape = landscape
        self._left = set(landscape.rows)
        self._known: dict[Program, float | None] = {}
        self._draw = random.Random(seed)
        self._trials: dict[Program, Any] = {}

    def propose(self) -> Program:
        """See `Chooser`. A point already seen is told again as it was."""
        for _ in range(REPEATS):
            trial = self._study.ask()
            program = self._asked(trial)
            if program in self._left:
                self._left.remove(program)
                self._trials[program] = trial
                return program
            self._tell(trial, self._known.get(program))
        program = self._draw.choice(sorted(self._left, key=repr))
        self._left.remove(program)
        return program

    def learn(self, program: Program, speedup: float | None) -> None:
        """See `Chooser`."""
        self._known[program] = speedup
        trial = self._trials.pop(program, None)
        if trial is not None:
            self._tell(trial, speedup)

    def _asked(self, trial: Any) -> Program:
        places = list(range(len(self._landscape.structures)))
        place = trial.suggest_categorical(SHARED, places) if len(places) > 1 else 0
        point = []
        for knob in self._landscape.structures[place].blueprint.knobs:
            choices = _ordered(knob)
            name = f"{place}.{knob.name}"
            point.append(choices[int(trial._suggest(name, _distribution(choices)))])
        return place, tuple(point)

    def _tell(self, trial: Any, speedup: float | None) -> None:
        """Times as TPE likes them, to be minimised; a failure is pruned, which ranks below every success."""
        from optuna.trial import TrialState

        self._seen |= trial.distributions
        if speedup is None:
            self._study.tell(trial, state=TrialState.PRUNED)
        else:
            self._study.tell(trial, 1.0 / speedup)


def _ordered(knob: Knob) -> list[Any]:
    choices = list(dict.fromkeys(knob.choices))
    return sorted(choices) if all(type(choice) is int for choice in choices) else choices


def _distribution(choices: list[Any]) -> BaseDistribution:
    """Positions on the choices: integers keep their order, words have none."""
    from optuna.distributions import CategoricalDistribution, IntDistribution

    if all(type(choice) is int for choice in choices):
        return IntDistribution(0, len(choices) - 1)
    return CategoricalDistribution(tuple(range(len(choices))))


FLAT: dict[str, Callable[[Landscape, int], Chooser]] = {"random": RandomPoints, "optuna_tpe_flat": FlatTpe}
