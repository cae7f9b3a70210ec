"""N independent programs, the fastest wins: the baseline that every benchmark reports (KernelBench, 2025).

Nothing is learned from an outcome: a step is a new structure, or a random program of a random structure.
Structures are grown from the direct implementation, and once nothing new comes from there, from the oldest open
one. Broken sources are not repaired.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.records import Stage
from search.strategies import moves
from search.strategies.strategy import Phase, Strategy, Turn, search_share, whole_budget

if TYPE_CHECKING:
    from search.steps import Item
    from search.structure import Structure

NEW = 0.5
"""Chance of a new structure, as long as the agent has one."""


def sample(turn: Turn) -> Item | None:
    """One more program that knows nothing of the others."""
    return moves.start(turn, Stage.EXPLORE) or _root_repair(turn) or _new_or_random(turn)


def _root_repair(turn: Turn) -> Item | None:
    """The direct implementation alone is repaired: without it there is nothing to grow from."""
    return None if len(turn.archive.structures) > 1 else moves.repair(turn, Stage.EXPLORE)


def _new_or_random(turn: Turn) -> Item | None:
    if turn.random().random() < NEW:
        return _new(turn) or _random_program(turn)
    return _random_program(turn) or _new(turn)


def _new(turn: Turn) -> Item | None:
    roots = [each for each in turn.archive.structures.values() if not each.parent]
    return moves.explore(turn, _indifferent, among=roots) or moves.explore(turn, _indifferent)


def _random_program(turn: Turn) -> Item | None:
    working = [each for each in turn.archive.structures.values() if each.base is not None]
    working.sort(key=lambda each: each.first)
    source = turn.random()
    for structure in source.sample(working, len(working)):
        knobs = turn.tuner.draw(structure, turn.seed)
        if knobs is not None and structure.base is not None:
            why = "An independent sample: random knobs of a random structure."
            return turn.variant(Stage.EXPLORE, structure, structure.base, knobs, why)
    return None


def _indifferent(turn: Turn, structure: Structure) -> dict[str, float]:
    return {"independent": 0.0}


BEST_OF_N = Strategy(
    name="best_of_n",
    title="Independent programs, the fastest wins",
    phases=(
        Phase(frozenset({Stage.EXPLORE}), search_share, sample),
        Phase(frozenset({Stage.CONFIRM}), whole_budget, moves.confirm),
    ),
    keeps_contract=False,
)
