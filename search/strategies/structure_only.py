"""The whole budget in stage 1, every structure at its default knobs; then the finalists again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.records import Stage
from search.strategies import moves
from search.strategies.strategy import Phase, Strategy, Turn, search_share, whole_budget
from search.strategies.two_stage import priority

if TYPE_CHECKING:
    from search.steps import Item


def explore(turn: Turn) -> Item | None:
    """New structures only, chosen as the two-stage search chooses them."""
    return (
        moves.start(turn, Stage.EXPLORE) or moves.repair(turn, Stage.EXPLORE) or moves.explore(turn, priority)
    )


STRUCTURE_ONLY = Strategy(
    name="structure_only",
    title="Structures only, at their default knobs",
    phases=(
        Phase(frozenset({Stage.EXPLORE}), search_share, explore),
        Phase(frozenset({Stage.CONFIRM}), whole_budget, moves.confirm),
    ),
    keeps_contract=True,
)
