"""An archive of elites over behaviour descriptors; each step varies an elite's structure or tunes its parameters.

The cell of a structure is read off its blueprint: how many kernels, how many intermediates in global memory,
and on how many decisions it differs from the direct implementation (KernelFoundry reads such descriptors off
sources). The elite of a cell is its fastest structure. Cells are drawn with equal chance, so slow kinds of
structures are not forgotten (MAP-Elites: Mouret and Clune 2015).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.records import Stage
from search.strategies import moves
from search.strategies.strategy import Phase, Strategy, Turn, search_share, whole_budget

if TYPE_CHECKING:
    from search.blueprint import Blueprint
    from search.steps import Item
    from search.structure import Structure

VARY = 0.4
"""Chance of a new structure; the rest tunes parameters of the elite."""
FAR = 4
"""Decisions changed from which on structures share a cell."""

Cell = tuple[int, int, int]


def step(turn: Turn) -> Item | None:
    """Bring sources to life, then draw an elite and vary or tune it."""
    return moves.start(turn, Stage.EXPLORE) or moves.repair(turn, Stage.EXPLORE) or _vary_or_tune(turn)


def elites(turn: Turn) -> dict[Cell, Structure]:
    """Fastest working structure of each cell that is filled."""
    structures = sorted(turn.archive.structures.values(), key=lambda each: each.first)
    direct = structures[0].blueprint if structures else None
    found: dict[Cell, Structure] = {}
    for each in structures:
        if each.blueprint is None or direct is None or each.base is None:
            continue
        cell = cell_of(each.blueprint, direct)
        held = found.get(cell)
        if held is None or _value(each) > _value(held):
            found[cell] = each
    return found


def cell_of(blueprint: Blueprint, direct: Blueprint) -> Cell:
    """Kernels, intermediates, and decisions that differ from the direct implementation."""
    names = set(blueprint.choices) | set(direct.choices)
    changed = sum(blueprint.choices.get(name) != direct.choices.get(name) for name in names)
    return (len(blueprint.kernels), len(blueprint.intermediates), min(FAR, changed))


def priority(turn: Turn, structure: Structure) -> dict[str, float]:
    """Where the drawn elite is closed: the fastest open structure."""
    best, fastest = structure.best, turn.archive.best
    return {"quality": round(best.value / fastest.value, 4) if best and fastest else 0.0}


def _vary_or_tune(turn: Turn) -> Item | None:
    filled = elites(turn)
    source = turn.random()
    drawn = [filled[cell] for cell in source.sample(sorted(filled), len(filled))]
    if source.random() < VARY:
        return _vary(turn, drawn) or _tune(turn, drawn)
    return _tune(turn, drawn) or _vary(turn, drawn)


def _vary(turn: Turn, drawn: list[Structure]) -> Item | None:
    for elite in drawn:
        if item := moves.explore(turn, priority, among=[elite]):
            return item
    return moves.explore(turn, priority)


def _tune(turn: Turn, drawn: list[Structure]) -> Item | None:
    for elite in drawn:
        why = f"An elite drawn from {len(drawn)} cells: tune its parameters."
        if item := moves.tune(turn, Stage.TUNE, elite, why):
            return item
    return None


def _value(structure: Structure) -> float:
    return structure.best.value if structure.best else 0.0


MAP_ELITES = Strategy(
    name="map_elites",
    title="Elites over kinds of structures, varied and tuned",
    phases=(
        Phase(frozenset({Stage.EXPLORE, Stage.TUNE}), search_share, step),
        Phase(frozenset({Stage.CONFIRM}), whole_budget, moves.confirm),
    ),
    keeps_contract=True,
)
