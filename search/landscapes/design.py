"""What is recorded: which structures of a workload, and which points of the grid of each.

Structures are those that the playbook's own moves reach, in the order of the product of its weights for their
actions, so that a structure comes after those it extends. A grid that is larger than wanted loses its switches
first, then choices of the knob that has most of them, the last such knob first. Of a knob that keeps some choices
the default stays, and one is drawn by the seed out of each of as many runs of neighbours as there is room for. What
stays is a full grid, so that a tuner never asks for a point that was not measured.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from search.agents.agent import Scene
from search.agents.playbook.moves import REPLACING, moves
from search.agents.playbook.priors import FIRST_CHOICE, weight
from search.agents.playbook.writers import refusal, write_source
from search.landscapes.landscape import Moves, RecordedStructure
from search.library import compose
from search.records import Candidate, content_hash
from search.tuning import draw_seed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from search.blueprint import Blueprint
    from search.library import ActionLibrary
    from search.records import Knob, KnobValue, Language
    from search.workload import Workload

MOST_THREAD_BYTES = 1536
"""A thread has 1020 bytes of registers; compilers take minutes over programs that keep much more."""

Places = tuple[int, ...]
"""Positions on the choices of each knob."""


@dataclass(frozen=True)
class Design:
    """How much is recorded."""

    structures: int
    """At most so many, in the order in which they are found."""
    points: int
    """At most so many of each structure's grid."""
    repeat_share: float
    """Share of the points, drawn by the seed, that is measured again."""
    repeats: int
    """Further evaluations of each of those, and of the fastest points."""
    fastest: int
    """Points that were fastest when first measured and are therefore measured again."""
    seed: int

    @property
    def text(self) -> str:
        """For people."""
        return (
            f"at most {self.structures} structures in the order of the playbook's weights; of each at most "
            f"{self.points} points, a full grid over choices drawn by seed {self.seed}, the default among them, "
            f"switches left out first; "
            f"points at which a thread keeps over {MOST_THREAD_BYTES} bytes by the plan are told as timeouts and not "
            f"built; {self.repeats} more evaluations of {self.repeat_share:.0%} of the points and of the "
            f"{self.fastest} fastest"
        )


@dataclass(frozen=True)
class Plan:
    """Structures with the points of each, default knobs first, and the moves between them."""

    structures: tuple[RecordedStructure, ...]
    points: tuple[tuple[Places, ...], ...]
    moves: Moves

    @property
    def hash(self) -> str:
        """Tells whether a half-finished recording is of this plan."""
        return content_hash(
            {
                "structures": [one.source_hash for one in self.structures],
                "points": [[list(places) for places in points] for points in self.points],
                "knobs": [[knob.dump() for knob in one.blueprint.knobs] for one in self.structures],
            }
        )


def plan(
    workload: Workload, library: ActionLibrary, language: Language, device_class: str, design: Design
) -> Plan:
    """Choose structures and points.

    Raises:
        ValueError: the playbook does not write this workload in this language.
    """
    if problem := refusal(workload, language):
        raise ValueError(problem)
    scene = Scene(workload, library, language, device_class, {}, {}, {})
    found, links = _found(scene, design)
    structures = tuple(_recorded(scene, blueprint, design) for blueprint in found)
    points = tuple(grid_points(one.blueprint.knobs) for one in structures)
    return Plan(structures, points, _columns(links, {one.fingerprint: n for n, one in enumerate(found)}))


def reduced(knobs: tuple[Knob, ...], most: int, seed: int) -> tuple[Knob, ...]:
    """The knobs with so few choices that the grid has at most `most` points; defaults stay."""
    counts = [len(knob.choices) for knob in knobs]
    while math.prod(counts) > max(1, most):
        place = max(
            range(len(knobs)), key=lambda one: (_is_switch(knobs[one], counts[one]), counts[one], one)
        )
        counts[place] -= 1
    draw = random.Random(seed)
    return tuple(_thinned(knob, count, draw) for knob, count in zip(knobs, counts, strict=True))


def _is_switch(knob: Knob, count: int) -> bool:
    return count > 1 and all(isinstance(choice, bool) for choice in knob.choices)


def _thinned(knob: Knob, count: int, draw: random.Random) -> Knob:
    """The default, and one choice of each of `count - 1` runs of the others."""
    others = [choice for choice in knob.choices if choice != knob.default]
    runs = count - 1
    bounds = [round(run * len(others) / max(runs, 1)) for run in range(runs + 1)]
    kept = [draw.choice(others[first:last]) for first, last in itertools.pairwise(bounds)]
    choices = tuple(choice for choice in knob.choices if choice == knob.default or choice in kept)
    return knob.model_copy(update={"choices": choices})


def grid_points(knobs: tuple[Knob, ...]) -> tuple[Places, ...]:
    """Every point of the grid, default knobs first."""
    default = tuple(knob.choices.index(knob.default) for knob in knobs)
    grid = itertools.product(*(range(len(knob.choices)) for knob in knobs))
    return tuple(sorted(grid, key=lambda places: places != default))


def values_at(knobs: tuple[Knob, ...], places: Places) -> dict[str, KnobValue]:
    """Knob values at positions."""
    return {knob.name: knob.choices[place] for knob, place in zip(knobs, places, strict=True)}


Link = tuple[str, str, str, float]
"""Parent and child by fingerprint, action, weight."""


def _found(scene: Scene, design: Design) -> tuple[list[Blueprint], list[Link]]:
    """Structures that the playbook writes, and the moves between them."""
    direct = compose(scene.workload, scene.library, (), scene.language)
    found, links = {direct.fingerprint: direct}, []
    queue = deque([direct])
    while queue:
        parent = queue.popleft()
        for move, child in moves(scene, parent, draw_seed(design.seed, parent.fingerprint)):
            if child.fingerprint not in found:
                found[child.fingerprint] = child
                queue.append(child)
            worth = weight(move.action.id, scene.language) * REPLACING ** len(move.dropped)
            links.append((parent.fingerprint, child.fingerprint, move.action.id, worth))
    chosen = sorted(found.values(), key=lambda one: _place(scene, one))[: design.structures]
    kept = {one.fingerprint for one in chosen}
    return chosen, [link for link in links if {link[0], link[1]} <= kept]


def _place(scene: Scene, blueprint: Blueprint) -> tuple[float, int]:
    """What the playbook would try first comes first; no action outweighs its absence."""
    shares = [min(1.0, weight(action, scene.language) / FIRST_CHOICE) for action in blueprint.actions]
    return -math.prod(shares), len(shares)


def _recorded(scene: Scene, blueprint: Blueprint, design: Design) -> RecordedStructure:
    seed = draw_seed(design.seed, blueprint.fingerprint, "choices")
    kept = blueprint.model_copy(update={"knobs": reduced(blueprint.knobs, design.points, seed)})
    sources = (write_source(blueprint, scene.workload, scene.language),)
    source_hash = Candidate(language=scene.language, sources=sources).source_hash
    return RecordedStructure(blueprint=kept, sources=sources, source_hash=source_hash)


def _columns(links: Iterable[Link], places: dict[str, int]) -> Moves:
    rows = [(places[parent], places[child], action, worth) for parent, child, action, worth in links]
    return Moves(
        parent=tuple(row[0] for row in rows),
        child=tuple(row[1] for row in rows),
        action=tuple(row[2] for row in rows),
        weight=tuple(row[3] for row in rows),
    )
