"""One search on a landscape, with the engine that the site runs and the agent of the landscape."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from search.agents.recorded import RecordedAgent
from search.bench.trace import Look, Program, Trace, make_trace
from search.landscapes.answer import answer
from search.library import shipped_library
from search.local import one_by_one, run_search
from search.records import EvaluationStatus, Purpose
from search.settings import Budget, SearchSettings
from search.steps import Step, Variant
from search.structure import point_of

if TYPE_CHECKING:
    from search.landscapes.landscape import Landscape
    from search.steps import Outcome


def play(landscape: Landscape, strategy: str, seed: int, budget: int, failure: float) -> Trace:
    """Search once.

    Args:
        landscape: where measurements come from.
        strategy: one of `STRATEGIES`.
        seed: of the search, of the noise and of the failing agent.
        budget: evaluations.
        failure: chance that a new structure, or another try at one, brings no source.
    """
    started = time.perf_counter()
    steps: list[Step] = []
    agent = RecordedAgent(landscape, failure)
    result = run_search(
        settings_for(landscape, strategy, seed, budget),
        landscape.workload,
        shipped_library(),
        agent,
        one_by_one(lambda request: answer(landscape, request, seed)),
        steps.append,
    )
    by_number = {step.number: step for step in steps}
    best = _program(landscape, by_number[result.best].outcome) if result.best else None
    seconds = time.perf_counter() - started
    looks = _looks(landscape, steps)
    return make_trace(landscape, strategy, seed, looks, best, result.spent.calls, seconds)


def settings_for(landscape: Landscape, strategy: str, seed: int, budget: int) -> SearchSettings:
    """Default settings; only strategy and seed differ between the arms."""
    library = shipped_library()
    return SearchSettings(
        workload=landscape.workload.name,
        workload_hash=landscape.workload_hash,
        library=library.name,
        library_hash=library.hash,
        strategy=strategy,
        agent=RecordedAgent.name,
        language=landscape.language,
        device_class=f"recorded:{landscape.name}",
        seed=seed,
        budget=Budget(evaluations=budget),
    )


def _looks(landscape: Landscape, steps: list[Step]) -> list[Look]:
    looks, calls = [], 0
    for step in steps:
        outcome = step.outcome
        if outcome is None:
            continue
        calls += outcome.usage.calls
        program = _program(landscape, outcome)
        if program is None or not outcome.charged:
            continue
        is_variant = isinstance(step.item, Variant)
        confirms = isinstance(step.item, Variant) and step.item.purpose is Purpose.CONFIRM
        passed = outcome.status is EvaluationStatus.PASSED
        measured = outcome.speedup.value if outcome.speedup and passed else None
        looks.append(Look(program, measured, calls, is_variant and not confirms, confirms))
    return looks


def _program(landscape: Landscape, outcome: Outcome | None) -> Program | None:
    place = landscape.by_fingerprint.get(outcome.structure) if outcome else None
    if outcome is None or place is None or not outcome.candidate:
        return None
    return place, point_of(landscape.structures[place].blueprint.knobs, outcome.knobs)
