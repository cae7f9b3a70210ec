"""One loop over complete programs: each step changes the structure of the incumbent or tunes its knobs.

The baseline that the two-stage search is held against, with the same agent, tuner, repairs and hints. A new
structure is judged by its first program: unless that is the fastest so far, it is left behind untuned. No
contract is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.records import Stage
from search.strategies import moves
from search.strategies.strategy import Phase, Strategy, Turn, search_share, whole_budget

if TYPE_CHECKING:
    from search.steps import Item
    from search.structure import Structure

CHANGE = 0.7
"""Chance that a step changes the structure: of 0.25, 0.5 and 0.75 the higher ones did best in trial worlds."""


def step(turn: Turn) -> Item | None:
    """Bring programs to life, then change or tune the incumbent; where one is impossible, the other."""
    return moves.start(turn, Stage.EXPLORE) or moves.repair(turn, Stage.EXPLORE) or _change_or_tune(turn)


def priority(turn: Turn, structure: Structure) -> dict[str, float]:
    """The incumbent first; a slower structure only where those above it are closed."""
    best, fastest = structure.best, turn.archive.best
    return {"quality": round(best.value / fastest.value, 4) if best and fastest else 0.0}


def _change_or_tune(turn: Turn) -> Item | None:
    if turn.random().random() < CHANGE:
        return moves.explore(turn, priority) or _tune(turn)
    return _tune(turn) or moves.explore(turn, priority)


def _tune(turn: Turn) -> Item | None:
    """Knobs of the incumbent; of the next best structure once the incumbent's are used up."""
    timed = [each for each in turn.archive.structures.values() if each.best]
    for structure in sorted(timed, key=lambda each: each.best.rank if each.best else (0.0, 0), reverse=True):
        number = structure.best.number if structure.best else 0
        why = f"Tune the fastest program that has knobs left, step {number}."
        if item := moves.tune(turn, Stage.TUNE, structure, why):
            return item
    return None


MIXED = Strategy(
    name="mixed",
    title="Structure and knobs in one loop, no contract",
    phases=(
        Phase(frozenset({Stage.EXPLORE, Stage.TUNE}), search_share, step),
        Phase(frozenset({Stage.CONFIRM}), whole_budget, moves.confirm),
    ),
    keeps_contract=False,
)
