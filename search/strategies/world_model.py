"""A search tree with beliefs: refine the open structure of highest worth until it stagnates, then grow (K-Search).

Every structure is open until its refinement stagnates. The worth V of an open structure is what its best
program may still become, relative to the fastest: measured quality, the gain that refinement brought
elsewhere, less for every trial in vain. When a structure closes the tree is edited: children are inserted below
the best closed one, all open ones are rated anew, and those whose worth is too low are pruned. An agent that
can judge is asked for its ratings at that moment and they replace the quality part; the playbook cannot, is
asked once, and the rest goes by measurements. The worth of the open structures is written into every step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.records import DraftKind, Stage
from search.strategies import moves
from search.strategies.strategy import Phase, Strategy, Turn, search_share, whole_budget

if TYPE_CHECKING:
    from search.steps import Item
    from search.structure import Structure

PATIENCE = 5
"""Trials without a gain after which a structure is closed."""
OPTIMISM = 0.5
"""Part of the best relative gain seen anywhere that an untuned structure is expected to have as well."""
PRUNED = 0.5
"""Worth, relative to the fastest, below which an open structure is pruned."""
FRONTIER = 3
"""Open structures below which children are inserted."""
RECORDED = 16
"""Beliefs written into a step, highest first."""


def step(turn: Turn) -> Item | None:
    """Bring sources to life, judge, grow the frontier, refine its best; with the beliefs of the moment."""
    beliefs = worths(turn)
    item = (
        moves.start(turn, Stage.EXPLORE)
        or moves.repair(turn, Stage.EXPLORE)
        or _judge(turn)
        or (moves.explore(turn, priority) if len(beliefs) < FRONTIER else None)
        or _refine(turn, beliefs)
        or moves.explore(turn, priority)
        or _reopen(turn)
    )
    highest = sorted(beliefs.items(), key=lambda each: -each[1])[:RECORDED]
    return item.model_copy(update={"beliefs": dict(highest)}) if item else None


def worths(turn: Turn) -> dict[str, float]:
    """V of every open structure; closed and pruned ones are left out."""
    structures = [each for each in turn.archive.structures.values() if each.best]
    gain = max((_gain(each) for each in structures), default=0.0)
    rated = {
        each.fingerprint: round(_worth(turn, each, gain), 4) for each in structures if not _is_closed(each)
    }
    return {fingerprint: worth for fingerprint, worth in rated.items() if worth >= PRUNED}


def priority(turn: Turn, structure: Structure) -> dict[str, float]:
    """Children go below the best structure, closed ones first: an open one still has refinement to do."""
    return {"quality": _quality(turn, structure), "closed": 0.2 if _is_closed(structure) else 0.0}


def _judge(turn: Turn) -> Item | None:
    """Ask the agent for its beliefs when structures closed since it was last asked; once, if it has none."""
    archive, closed = turn.archive, _closes(turn)
    most = closed if archive.beliefs else min(1, closed)
    if not turn.ledger.may_draft or archive.judgements >= most:
        return None
    structure = max(archive.structures.values(), key=lambda each: each.first)
    why = f"{closed} structures are closed: rate the open ones anew."
    return turn.draft(DraftKind.JUDGE, Stage.EXPLORE, structure=structure.fingerprint, why=why)


def _refine(turn: Turn, beliefs: dict[str, float]) -> Item | None:
    for fingerprint in sorted(
        beliefs, key=lambda each: (-beliefs[each], turn.archive.structures[each].first)
    ):
        why = (
            f"The open structure of highest worth, {beliefs[fingerprint]:.2f}: refine it until it stagnates."
        )
        if item := moves.tune(turn, Stage.TUNE, turn.archive.structures[fingerprint], why):
            return item
    return None


def _reopen(turn: Turn) -> Item | None:
    """Everything is closed and nothing new is left: the closed ones once more, best first."""
    ranked = [each for each in turn.archive.structures.values() if each.best]
    for structure in sorted(ranked, key=lambda each: (-_quality(turn, each), each.first)):
        why = "Every structure is closed: the best one with untried knobs is refined further."
        if item := moves.tune(turn, Stage.TUNE, structure, why):
            return item
    return None


def _worth(turn: Turn, structure: Structure, gain: float) -> float:
    quality = turn.archive.beliefs.get(structure.fingerprint, _quality(turn, structure))
    hope = OPTIMISM * gain / (1 + len(structure.points))
    return quality * (1 + hope) * (1 - structure.vain / (4 * PATIENCE))


def _quality(turn: Turn, structure: Structure) -> float:
    best, fastest = structure.best, turn.archive.best
    return round(best.value / fastest.value, 4) if best and fastest else 0.0


def _gain(structure: Structure) -> float:
    """Relative gain of refinement over the structure's first program."""
    first = structure.trials.get(structure.first)
    return structure.best.value / first.value - 1 if structure.best and first and first.value else 0.0


def _is_closed(structure: Structure) -> bool:
    return structure.vain >= PATIENCE


def _closes(turn: Turn) -> int:
    return sum(_is_closed(each) for each in turn.archive.structures.values())


WORLD_MODEL = Strategy(
    name="world_model",
    title="Tree with beliefs: refine the open structure of highest worth, grow when it stagnates",
    phases=(
        Phase(frozenset({Stage.EXPLORE, Stage.TUNE}), search_share, step),
        Phase(frozenset({Stage.CONFIRM}), whole_budget, moves.confirm),
    ),
    keeps_contract=True,
)
