"""Structures first, then tuning: explore under a ladder of knob trials, keep some, tune each alone, confirm.

1. EXPLORE grows a tree of structures, each first seen at its default knobs. The last part of the allowance
   calibrates them: rungs of knob trials for those whose intervals overlap with the best, until they can be
   told apart or the ladder ends; what is left grows the tree again.
2. The selection keeps the best, with a bonus for being different (`ranking.retain`).
3. TUNE gives every kept structure the same number of evaluations under its contract.
4. CONFIRM measures the finalists again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.records import Stage
from search.strategies import moves
from search.strategies.ranking import contenders, estimates, retain
from search.strategies.strategy import Phase, Strategy, Turn, explore_share, search_share, whole_budget

if TYPE_CHECKING:
    from search.steps import Item
    from search.structure import Structure

GROWTH = 0.85
"""Share of stage 1 for new structures. Probing each at once, before the next, did worse in trial worlds."""
NOVELTY = 0.2
CURIOSITY = 0.15
"""Weights of being different and of few children, against the ratio to the fastest."""


def explore(turn: Turn) -> Item | None:
    """Stage 1: bring sources to life, grow while there is room, then climb the ladder."""
    grow_until = (1 - GROWTH) * turn.allowance
    return (
        moves.start(turn, Stage.EXPLORE)
        or moves.repair(turn, Stage.EXPLORE)
        or (moves.explore(turn, priority) if turn.left > grow_until else None)
        or _climb(turn)
        or moves.explore(turn, priority)
    )


def tune(turn: Turn) -> Item | None:
    """Stage 2: the kept structure that had the fewest evaluations in this stage; a used-up grid steps aside."""
    kept = [turn.archive.structures[fingerprint] for fingerprint in turn.retained]
    for structure in sorted(kept, key=lambda each: each.spent(Stage.TUNE)):
        place = turn.retained.index(structure.fingerprint) + 1
        why = f"Kept structure {place} of {len(kept)}: tune it alone, in its equal share of the budget."
        if item := moves.tune(turn, Stage.TUNE, structure, why):
            return item
    return None


def priority(turn: Turn, structure: Structure) -> dict[str, float]:
    """Quality against the fastest, difference from the others, and how little it was grown from."""
    best, fastest = structure.best, turn.archive.best
    return {
        "quality": round(best.value / fastest.value, 4) if best and fastest else 0.0,
        "novelty": round(NOVELTY * turn.archive.novelty(structure), 4),
        "uncertainty": round(CURIOSITY / (1 + structure.children), 4),
    }


def _climb(turn: Turn) -> Item | None:
    """One more trial: finish a rung that was begun, or begin the next of a contender, lowest rung first."""
    ladder = turn.stages.probes
    ranked = estimates(turn)
    begun = [each for each in ranked if _probes(each.structure) not in (*ladder, 0)]
    contending = contenders(ranked, turn.stages.retain)
    for each in [*begun, *sorted(contending, key=lambda one: (_probes(one.structure), -one.high))]:
        if _probes(each.structure) >= max(ladder, default=0):
            continue
        why = "Its interval overlaps those of the best: more knob trials before it is judged."
        if item := moves.tune(turn, Stage.EXPLORE, each.structure, why):
            return item
    return None


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
