"""Structures first, then tuning: explore under a ladder of knob trials, keep some, tune each alone, confirm.

1. EXPLORE grows a tree of structures and races them. With the shared sampler growing and racing take turns: a
   race step is a random program until enough is known of what knobs do, then the program, of any structure
   whose ladder has rungs left, with the least expected cost or the highest expected improvement on the best
   of all (`surrogate.py`, which starts from what a cost model predicts). With the other samplers structures are
   grown first; those whose intervals overlap with the best are calibrated rung by rung afterwards. What a cost
   model rules out is not raced.
2. The selection keeps the best, with a bonus for being different (`ranking.retain`).
3. TUNE divides the rest among the kept structures, each alone under its contract, by the written policy
   (`policies.py`; `equal` unless stated): knob values, and between them the agent's source edits where the
   settings ask for some; variants follow the source that is fastest. Once their knobs are used up the race goes on, then the growth.
4. CONFIRM measures the finalists again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from search.records import Stage
from search.strategies import moves
from search.strategies.policies import POLICIES
from search.strategies.ranking import contenders, estimates, is_hopeless, retain
from search.strategies.strategy import Phase, Strategy, Turn, explore_share, search_share, whole_budget

if TYPE_CHECKING:
    from search.steps import Item
    from search.strategies.ranking import Estimate
    from search.structure import Structure

GROWTH = 0.85
"""Share of stage 1 for new structures without a shared model; with independent tuners, racing early did worse."""
EARLY = 2
"""Structures seen before the race begins."""
PACE = 3.0
"""Knob trials of the race per further structure."""
AMPLE = 80
"""Evaluations of stage 1 from which on that is the pace; with fewer, structures come sooner in proportion."""
EDIT_AFTER = 2
"""Knob trials in a kept structure before its first source edit, and between two."""
NOVELTY = 0.2
CURIOSITY = 0.15
"""Weights of being different and of few children, against the ratio to the fastest."""
STEP = 1.5
"""How much faster, by the cost model, makes a structure worth a try at once."""
PRIOR = 0.3
"""Weight of what a cost model says a structure can reach, where there is one."""


def explore(turn: Turn) -> Item | None:
    """Stage 1: bring sources to life, then grow and race in turns."""
    return (
        moves.start(turn, Stage.EXPLORE)
        or moves.repair(turn, Stage.EXPLORE)
        or moves.explore(turn, priority, among=_stepping_stones(turn))
        or (moves.explore(turn, priority) if _growth_is_due(turn) else None)
        or _race(turn)
        or moves.explore(turn, priority)
    )


def tune(turn: Turn) -> Item | None:
    """Stage 2: kept structures in the order of the policy; used-up grids make room for the rest, then new ones."""
    policy = POLICIES[turn.stages.policy]
    kept = [turn.archive.structures[fingerprint] for fingerprint in turn.retained]
    order = policy.order(turn, kept)
    for structure in order:
        place = turn.retained.index(structure.fingerprint) + 1
        why = f"Kept structure {place} of {len(kept)}: tune it alone, {policy.why}."
        edit = _edit(turn, structure) if _is_edit_due(turn, structure) else None
        if item := edit or moves.tune(turn, Stage.TUNE, structure, why):
            return item
    for structure in order:
        if item := _edit(turn, structure):
            return item
    return _race(turn, Stage.TUNE) or moves.explore(turn, priority, Stage.TUNE)


def _edit(turn: Turn, structure: Structure) -> Item | None:
    """An edit of the fastest source of a kept structure, which the contract holds in the structure."""
    made = _edits(turn, structure)
    trial = moves.refinable(turn, structure) if made < turn.stages.edits else None
    if trial is None:
        return None
    why = f"Edit the fastest source, step {trial.number}, under its contract; edit {made + 1} of {turn.stages.edits}."
    return moves.refine(turn, Stage.TUNE, trial, why)


def _is_edit_due(turn: Turn, structure: Structure) -> bool:
    """An edit starts from tuned knobs, and they are tuned again after it."""
    made = _edits(turn, structure)
    return structure.spent(Stage.TUNE) - made >= EDIT_AFTER * (made + 1)


def _edits(turn: Turn, structure: Structure) -> int:
    """Edits asked for in a structure, with those under way."""
    done = sum(moves.refines(turn.archive.steps[number].item) for number in structure.drafts)
    return done + sum(map(moves.refines, structure.in_flight.values()))


def priority(turn: Turn, structure: Structure) -> dict[str, float]:
    """Quality against the fastest, difference from the others, and how little it was grown from."""
    best, fastest = structure.best, turn.archive.best
    parts = {
        "quality": round(best.value / fastest.value, 4) if best and fastest else 0.0,
        "novelty": round(NOVELTY * turn.archive.novelty(structure), 4),
        "uncertainty": round(CURIOSITY / (1 + structure.children), 4),
    }
    hopes = [hope for hope in (structure.prior, structure.promise) if hope is not None]
    if hopes and fastest:
        reachable = min(1.0, math.exp(max(hopes)) * _direct(turn) / fastest.value)
        parts["prior"] = round(PRIOR * reachable, 4)
    return parts


def _stepping_stones(turn: Turn) -> list[Structure]:
    """Structures nothing was grown from, one move before one that a cost model holds for much faster than the fastest."""
    fastest = turn.archive.best
    if fastest is None:
        return []
    least = math.log(STEP * fastest.value / _direct(turn))
    structures = [each for each in turn.archive.structures.values() if not each.children]
    return [each for each in structures if each.promise is not None and each.promise > least]


def _direct(turn: Turn) -> float:
    """Best speed-up of the structure that priors are over; 1 while it has none."""
    first = min(turn.archive.structures.values(), key=lambda each: each.first)
    return first.best.value if first.best else 1.0


def _growth_is_due(turn: Turn) -> bool:
    if not turn.tuner.is_shared or not turn.stages.probes:
        return turn.left > (1 - GROWTH) * turn.allowance
    structures = turn.archive.structures.values()
    grown = sum(each.children for each in structures)
    pace = PACE * min(1.0, turn.allowance / AMPLE)
    return sum(map(_probes, structures)) >= pace * (grown - EARLY)


def _race(turn: Turn, stage: Stage = Stage.EXPLORE) -> Item | None:
    """One more trial for a structure that may still be the best and whose ladder has rungs left."""
    highest = max(turn.stages.probes, default=0)
    why = "It may still be the best: more knob trials before it is judged."
    working = {each.fingerprint: each for each in turn.archive.structures.values() if each.base is not None}
    racing = {
        fingerprint: each
        for fingerprint, each in working.items()
        if _probes(each) < highest and not is_hopeless(turn, each)
    }
    if turn.tuner.is_shared:
        for structure, knobs in turn.tuner.race(racing.values(), working.values(), turn.number):
            base = moves.source_of(turn, structure)
            if base is not None:
                return turn.variant(stage, structure, base, knobs, why)
    climbers = _climbers(turn) if stage is Stage.EXPLORE else [each.structure for each in estimates(turn)]
    for structure in climbers:
        if structure.fingerprint in racing and (item := moves.tune(turn, stage, structure, why)):
            return item
    return None


def _climbers(turn: Turn) -> list[Structure]:
    """Contenders without a model: those that began a rung, then the lowest rungs."""
    ranked = estimates(turn)
    begun = [each for each in ranked if _probes(each.structure) not in (*turn.stages.probes, 0)]
    contending = sorted(contenders(ranked, turn.stages.retain), key=_rung)
    return [each.structure for each in (*begun, *contending)]


def _rung(estimate: Estimate) -> tuple[int, float]:
    return _probes(estimate.structure), -estimate.high


def _probes(structure: Structure) -> int:
    """Knob points tried or in flight, beyond the one it was first seen with."""
    return max(0, len(structure.taken()) - 1)


TWO_STAGE = Strategy(
    name="two_stage",
    title="Structures first, then each kept one tuned alone under its contract",
    phases=(
        Phase(frozenset({Stage.EXPLORE}), explore_share, explore),
        Phase(frozenset({Stage.TUNE}), search_share, tune),
        Phase(frozenset({Stage.CONFIRM}), whole_budget, moves.confirm),
    ),
    keeps_contract=True,
    retain=retain,
)
