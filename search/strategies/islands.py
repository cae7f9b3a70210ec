"""Several populations of structures that grow apart, with migration along a ring (Kernel Foundry, OpenEvolve).

Islands take turns by step number, and a structure lives where it was grown. On its turn an island varies or
tunes its own fastest structure; now and then a migrant: the fastest of the island before it, whose children
then live here. The direct implementation belongs to all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.records import Stage
from search.strategies import moves
from search.strategies.strategy import Phase, Strategy, Turn, search_share, whole_budget

if TYPE_CHECKING:
    from search.steps import Item
    from search.structure import Structure

ISLANDS = 3
VARY = 0.4
"""Chance of a new structure; the rest tunes the island's fastest."""
MIGRATION = 4
"""Every so many turns of an island work on a migrant."""


def step(turn: Turn) -> Item | None:
    """Bring sources to life, then let the island whose turn it is vary or tune."""
    return moves.start(turn, Stage.EXPLORE) or moves.repair(turn, Stage.EXPLORE) or _vary_or_tune(turn)


def population(turn: Turn, island: int) -> list[Structure]:
    """Structures of an island, fastest first; the direct implementation is everywhere."""
    structures = turn.archive.structures.values()
    native = [each for each in structures if each.first % ISLANDS == island or not each.parent]
    return sorted(native, key=lambda each: (-_value(each), each.first))


def priority(turn: Turn, structure: Structure) -> dict[str, float]:
    """Fastest first."""
    best, fastest = structure.best, turn.archive.best
    return {"quality": round(best.value / fastest.value, 4) if best and fastest else 0.0}


def _vary_or_tune(turn: Turn) -> Item | None:
    island, round_ = turn.number % ISLANDS, turn.number // ISLANDS
    is_migration = round_ % MIGRATION == 0
    here = population(turn, (island - 1) % ISLANDS if is_migration else island)
    home = f"island {island + 1} of {ISLANDS}" + (", on a migrant" if is_migration else "")
    if turn.random().random() < VARY:
        return moves.explore(turn, priority, among=here) or _tune(turn, here, home) or _anywhere(turn, home)
    return _tune(turn, here, home) or moves.explore(turn, priority, among=here) or _anywhere(turn, home)


def _tune(turn: Turn, here: list[Structure], home: str) -> Item | None:
    for structure in here:
        if item := moves.tune(turn, Stage.TUNE, structure, f"Tune the fastest of {home}."):
            return item
    return None


def _anywhere(turn: Turn, home: str) -> Item | None:
    """An island with nothing left to do works for the others."""
    everyone = sorted(turn.archive.structures.values(), key=lambda each: (-_value(each), each.first))
    return _tune(turn, everyone, f"all, for {home} has nothing left") or moves.explore(turn, priority)


def _value(structure: Structure) -> float:
    return structure.best.value if structure.best else 0.0


ISLANDS_STRATEGY = Strategy(
    name="islands",
    title="Populations that grow apart, with migration",
    phases=(
        Phase(frozenset({Stage.EXPLORE, Stage.TUNE}), search_share, step),
        Phase(frozenset({Stage.CONFIRM}), whole_budget, moves.confirm),
    ),
    keeps_contract=True,
)
