"""What does the engine itself cost per step, without the knob sampler, as its history grows?

    python benchmarks/engine_cost.py [--trials 2000] [--strategies two_stage mixed …]

A made-up space (60 structures, 4 knobs of 6 values) answers at once. Time inside the tuner is taken away from the
time of `ask`; `tell` is added. Means are over the last tenth of the steps before each mark. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from dataclasses import dataclass, field
from typing import Any

from search.blueprint import Blueprint
from search.engine import Search
from search.records import EvaluationStatus, Interval, Knob, Language
from search.settings import Budget, SearchSettings, StageSettings
from search.steps import Draft, Item, Outcome
from search.strategies import STRATEGIES
from search.tuning import Tuner

GOAL_MS = 1.0
STRUCTURES = 60
KNOBS = tuple(Knob(name=f"K{n}", choices=(1, 2, 3, 4, 5, 6), default=1) for n in range(4))
BLUEPRINTS = tuple(
    Blueprint(
        workload="made_up",
        actions=(f"a{n}",) if n else (),
        choices={"one": f"w{n % 8}", "two": f"w{n // 8}"},
        kernels=(),
        knobs=KNOBS,
    )
    for n in range(STRUCTURES)
)
MARKS = (100, 500, 1000, 2000, 5000, 10_000)


@dataclass
class Stopwatch:
    """Seconds inside the tuner since it was last read."""

    seconds: float = 0.0
    depth: int = field(default=0, repr=False)

    def read(self) -> float:
        """Seconds so far, and back to zero."""
        seconds, self.seconds = self.seconds, 0.0
        return seconds

    def watch(self, method: str) -> None:
        """Time a method of the tuner; calls inside calls count once."""
        original = getattr(Tuner, method)

        def timed(tuner: Tuner, *arguments: Any, **named: Any) -> Any:
            started = time.process_time()
            self.depth += 1
            try:
                return original(tuner, *arguments, **named)
            finally:
                self.depth -= 1
                self.seconds += 0.0 if self.depth else time.process_time() - started

        setattr(Tuner, method, timed)


def main() -> None:
    """Play each strategy and print its cost at the marks."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--strategies", nargs="+", choices=list(STRATEGIES), default=list(STRATEGIES))
    options = parser.parse_args()
    watch = Stopwatch()
    for method in [one for one in vars(Tuner) if not one.startswith("_") and callable(getattr(Tuner, one))]:
        watch.watch(method)
    found = {}
    for strategy in options.strategies:
        found[strategy] = cost_ms(strategy, options.trials, watch)
        told = ", ".join(f"{value:.3f} ms at {mark}" for mark, value in found[strategy].items())
        print(f"{strategy}: {told}")
    print(json.dumps({"goal_ms": GOAL_MS, "strategies": found}))


def cost_ms(strategy: str, trials: int, watch: Stopwatch) -> dict[int, float]:
    """Mean milliseconds of a step's `ask` and `tell` without the tuner, by the steps made before."""
    search, draw, costs = Search(_settings(strategy, trials)), random.Random(0), []
    while True:
        watch.read()
        started = time.process_time()
        asked = search.ask(1)
        asking = time.process_time() - started - watch.read()
        if not asked:
            break
        outcome = _outcome(asked[0], draw)
        started = time.process_time()
        search.tell(asked[0].number, outcome)
        costs.append(asking + time.process_time() - started - watch.read())
    marks = [mark for mark in MARKS if mark < len(costs)] + [len(costs)]
    return {mark: 1e3 * _mean(costs[mark - max(1, mark // 10) : mark]) for mark in marks}


def _settings(strategy: str, trials: int) -> SearchSettings:
    return SearchSettings(
        workload="made_up",
        workload_hash="0" * 64,
        library="made_up",
        library_hash="0" * 64,
        strategy=strategy,
        language=Language.CPP,
        device_class="cpu",
        budget=Budget(evaluations=trials),
        # The cheapest sampler: its time is taken away in any case.
        stages=StageSettings(sampler="random"),
    )


def _outcome(item: Item, draw: random.Random) -> Outcome:
    """A new structure for an exploration while there is one, else knobs of the one asked for; always a pass."""
    blueprint = _blueprint(item, draw)
    if blueprint is None:
        return Outcome(failure="nothing is left")
    knobs = {knob.name: knob.default for knob in KNOBS} if isinstance(item, Draft) else item.knobs
    value = 1 + draw.random()
    return Outcome(
        blueprint=blueprint if isinstance(item, Draft) else None,
        structure=blueprint.fingerprint,
        candidate=str(item.number),
        knobs=knobs,
        status=EvaluationStatus.PASSED,
        speedup=Interval(value=value, low=value * 0.99, high=value * 1.01),
        median_us=100 / value,
        charged=True,
        device_seconds=1.0,
    )


def _blueprint(item: Item, draw: random.Random) -> Blueprint | None:
    if item.structure and not (isinstance(item, Draft) and item.exclude and item.kind == "explore"):
        return next(one for one in BLUEPRINTS if one.fingerprint == item.structure)
    if not item.structure:
        return BLUEPRINTS[0]
    assert isinstance(item, Draft)
    fresh = [one for one in BLUEPRINTS if one.fingerprint not in item.exclude]
    return draw.choice(fresh) if fresh else None


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


if __name__ == "__main__":
    main()
