"""Structural moves: from one structure to another by one action, taken in addition or in place of others."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from search.agents.playbook.priors import weight
from search.agents.playbook.writers import writes
from search.library import CompositionError, applicable, compose

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from search.agents.agent import Scene
    from search.blueprint import Blueprint
    from search.library import Action

REPLACING = 0.3
"""Weight of a move per action that it gives up: additions come first, but a search is never stuck in a corner."""


@dataclass(frozen=True)
class Move:
    """One action more; `dropped` are those that cannot stand beside it."""

    action: Action
    kept: tuple[str, ...]
    dropped: tuple[str, ...]

    @property
    def note(self) -> str:
        """One line for people."""
        instead = f" Instead of {', '.join(self.dropped)}." if self.dropped else ""
        return f"{self.action.title}: {self.action.summary}{instead}"


def moves(
    scene: Scene, parent: Blueprint, seed: int, favour: Callable[[Blueprint], float] = lambda child: 1.0
) -> Iterator[tuple[Move, Blueprint]]:
    """Moves with the structures they lead to, in a random order that favours what experts try first.

    `favour` multiplies the weight of a move, by the structure it leads to. Only actions that the playbook writes are taken, and those of the parent that it does not write are given up.
    A key of uniform ** (1 / weight), largest first, draws without replacement in proportion to the weights
    (Efraimidis and Spirakis 2006).
    """
    draw = random.Random(seed)
    known = writes(scene.workload, scene.language)
    offered = [action for action in scene.library.actions if action.id in known]
    found = [move for action in offered if (move := _move(scene, parent, action, known))]
    draws = {move.action.id: draw.random() for move in found}
    reached = [
        (move, compose(scene.workload, scene.library, (*move.kept, move.action.id), scene.language))
        for move in found
        if _allowed(scene, move)
    ]
    keys = {
        move.action.id: draws[move.action.id]
        ** (1 / (weight(move.action.id, scene.language) * REPLACING ** len(move.dropped) * favour(child)))
        for move, child in reached
    }
    yield from sorted(reached, key=lambda pair: keys[pair[0].action.id], reverse=True)


def _move(scene: Scene, parent: Blueprint, action: Action, known: Collection[str]) -> Move | None:
    """The move that keeps most of the parent; None if the action is taken or cannot be."""
    if action.id in parent.actions:
        return None
    clashes = {one.id for one in scene.library.actions if _clash(one, action)}
    kept = tuple(one for one in parent.actions if one in known and one not in clashes)
    while True:
        try:
            compose(scene.workload, scene.library, (*kept, action.id), scene.language)
        except CompositionError as error:
            # Whoever cannot stand beside the new action goes; the new action itself cannot.
            if error.action not in kept:
                return None
            kept = tuple(one for one in kept if one != error.action)
        else:
            return Move(action, kept, tuple(one for one in parent.actions if one not in kept))


def _clash(one: Action, other: Action) -> bool:
    if one.id in other.conflicts or other.id in one.conflicts:
        return True
    return any(one.sets.get(decision, word) != word for decision, word in other.sets.items())


def _allowed(scene: Scene, move: Move) -> bool:
    """Whether what is left of the parent may be extended so: the library's own answer, device and scope included."""
    if scene.allowed_actions and move.action.id not in scene.allowed_actions:
        return False
    try:
        rest = compose(scene.workload, scene.library, move.kept, scene.language)
    except CompositionError:
        return False
    offered = applicable(
        scene.workload,
        scene.library,
        rest,
        scene.language,
        allowed=(move.action.id,),
        device_class=scene.device_class,
    )
    return bool(offered)
