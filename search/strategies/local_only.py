"""The whole budget tunes the direct implementation; then the finalists again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.records import Stage
from search.strategies import moves
from search.strategies.strategy import Phase, Strategy, Turn, search_share, whole_budget

if TYPE_CHECKING:
    from search.steps import Item


def tune(turn: Turn) -> Item | None:
    """Bring the direct implementation to life, then try its knobs."""
    return moves.start(turn, Stage.TUNE) or moves.repair(turn, Stage.TUNE) or _knobs(turn)


def _knobs(turn: Turn) -> Item | None:
    direct = min(turn.archive.structures.values(), key=lambda each: each.first, default=None)
    if direct is None:
        return None
    return moves.tune(turn, Stage.TUNE, direct, "Tune the direct implementation; its structure stays.")


LOCAL_ONLY = Strategy(
    name="local_only",
    title="Tuning of the direct implementation only",
    phases=(
        Phase(frozenset({Stage.TUNE}), search_share, tune),
        Phase(frozenset({Stage.CONFIRM}), whole_budget, moves.confirm),
    ),
    keeps_contract=True,
)
