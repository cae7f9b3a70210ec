"""One trajectory: the agent refines the fastest program, with its evidence, again and again (CudaForge, Caesar).

Every step is a call of the agent. When refining has not helped for a while, or the agent has no refinement
left, it is asked for another structure, grown from that of the fastest program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.records import Stage
from search.strategies import moves
from search.strategies.strategy import Phase, Strategy, Turn, search_share, whole_budget

if TYPE_CHECKING:
    from search.steps import Item
    from search.structure import Structure

PATIENCE = 4
"""Steps without a new best after which another structure is asked for."""
STAGES = frozenset({Stage.EXPLORE, Stage.TUNE})


def step(turn: Turn) -> Item | None:
    """Bring programs to life, then refine the fastest, or leave it for another structure."""
    return moves.start(turn, Stage.EXPLORE) or moves.repair(turn, Stage.EXPLORE) or _refine_or_change(turn)


def priority(turn: Turn, structure: Structure) -> dict[str, float]:
    """The structure of the fastest program; a slower one only where those above it are closed."""
    best, fastest = structure.best, turn.archive.best
    return {"quality": round(best.value / fastest.value, 4) if best and fastest else 0.0}


def _refine_or_change(turn: Turn) -> Item | None:
    best = turn.archive.best
    waited = turn.number - (best.number if best else 0)
    # The last step of every spell without a gain changes the structure; the others refine.
    if best is None or waited % (PATIENCE + 1) == 0:
        return moves.explore(turn, priority) or _refine(turn)
    return _refine(turn) or moves.explore(turn, priority)


def _refine(turn: Turn) -> Item | None:
    """A refinement of the fastest program that the agent has not given up."""
    structures = turn.archive.structures.values()
    open_trials = [trial for each in structures if (trial := moves.refinable(turn, each))]
    trial = max(open_trials, key=lambda each: each.rank, default=None)
    if trial is None:
        return None
    why = f"Refine the fastest program that has refinements left, step {trial.number}, with its evidence."
    return moves.refine(turn, Stage.TUNE, trial, why)


REFINE_BEST = Strategy(
    name="refine_best",
    title="One trajectory: the fastest program refined again and again",
    phases=(
        Phase(STAGES, search_share, step),
        Phase(frozenset({Stage.CONFIRM}), whole_budget, moves.confirm),
    ),
    keeps_contract=False,
)
