"""The playbook agent: answers drafts with sources it composes itself. Needs no model, knows only its families.

With starting candidates a search begins with them, of whatever family: then no more than tuning may be left to do.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from search.agents.expected import MOST_KNOWN, expected, favour, highest, tried_first
from search.agents.playbook.given import given
from search.agents.playbook.moves import moves
from search.agents.playbook.writers import refusal, refusal_of, write_source
from search.library import CompositionError, compose
from search.records import Candidate, DraftKind
from search.steps import DraftFailure, Proposal

if TYPE_CHECKING:
    from search.agents.agent import Scene
    from search.blueprint import Blueprint
    from search.records import Knob, KnobValue
    from search.steps import Draft


SPREADING = {"NUM_WARPS", "THREADS"}
"""Knobs whose larger values leave less to each thread."""
_promises: dict[tuple[object, ...], float | None] = {}


class PlaybookAgent:
    """See `search.agents.agent.Agent`."""

    name = "playbook"

    def propose(self, draft: Draft, scene: Scene) -> Proposal:
        """Answer a draft; a refusal is a `Proposal` with `failure`."""
        if not scene.starting and (problem := refusal(scene.workload, scene.language)):
            return Proposal(failure=problem, cause=DraftFailure.IMPOSSIBLE)
        try:
            return self._answer(draft, scene)
        except CompositionError as error:
            return Proposal(failure=str(error), cause=DraftFailure.IMPOSSIBLE)

    def _answer(self, draft: Draft, scene: Scene) -> Proposal:
        match draft.kind:
            case DraftKind.INSTANTIATE:
                return _instantiate(draft, scene)
            case DraftKind.EXPLORE:
                return _explore(draft, scene)
            case DraftKind.REPAIR:
                return _repair(draft, scene)
            case DraftKind.REFINE:
                return _refine(draft, scene)
            case DraftKind.JUDGE:
                why = "the playbook holds no beliefs that a result could change"
                return Proposal(failure=why, cause=DraftFailure.NOTHING_LEFT)


def _instantiate(draft: Draft, scene: Scene) -> Proposal:
    if not draft.structure:
        if scene.starting:
            return next(given(scene))
        blueprint = compose(scene.workload, scene.library, (), scene.language)
        return _proposal(blueprint, scene, note="the direct implementation")
    known = scene.blueprints.get(draft.structure)
    if known is None:
        return Proposal(failure=f"structure {draft.structure} is not known here")
    return _proposal(known, scene, parent=_ancestor(draft, scene), note=f"{known.title}, written anew")


def _explore(draft: Draft, scene: Scene) -> Proposal:
    parent = scene.blueprints.get(draft.structure)
    if parent is None:
        return Proposal(failure=f"structure {draft.structure} is not known here")
    for proposal in given(scene):
        if proposal.blueprint and proposal.blueprint.fingerprint not in {*scene.blueprints, *draft.exclude}:
            return proposal
    if not refusal(scene.workload, scene.language):
        told = expected(parent, scene.workload, scene.device_class)

        def worth(child: Blueprint) -> float:
            return favour(told, expected(child, scene.workload, scene.device_class))

        offered = [
            (move, child)
            for move, child in moves(scene, parent, draft.seed, worth)
            if child.fingerprint not in draft.exclude
        ]
        if offered:
            # Last comes what another draft brings that is in flight beside this one.
            move, child = min(offered, key=lambda pair: pair[1].fingerprint in scene.blueprints)
            return _proposal(child, scene, parent=_ancestor(draft, scene), note=move.note)
    why = f"no structure beyond {parent.title} is left to try"
    return Proposal(failure=why, cause=DraftFailure.NOTHING_LEFT)


def _repair(draft: Draft, scene: Scene) -> Proposal:
    """The base with the knobs of its plan, those that ask least of the device, the library's, drawn ones."""
    base, blueprint = _base(draft, scene)
    if base is None or blueprint is None:
        return Proposal(failure="there is no candidate to repair")
    tried = _tried(scene, base)
    ways = {
        "planned": tried_first(blueprint, scene.workload, scene.device_class),
        "lightest": {knob.name: _lightest(knob) for knob in blueprint.knobs},
        "default": {knob.name: knob.default for knob in blueprint.knobs},
        "drawn": _drawn(blueprint, draft.seed),
    }
    for what, knobs in ways.items():
        if knobs not in tried:
            note = f"the {what} knobs, after {_ending(draft, scene)}"
            return _with_knobs(base, blueprint, knobs, note=note)
    why = f"{blueprint.title} failed with {', '.join(ways)} knobs: {_ending(draft, scene)}"
    return Proposal(failure=why, cause=DraftFailure.NOTHING_LEFT)


def _refine(draft: Draft, scene: Scene) -> Proposal:
    """The base with one knob changed: the source stays as it is."""
    base, blueprint = _base(draft, scene)
    if base is None or blueprint is None:
        return Proposal(failure="there is no candidate to refine")
    tried = _tried(scene, base)
    changes = [(knob, value) for knob in blueprint.knobs for value in knob.choices]
    random.Random(draft.seed).shuffle(changes)
    for knob, value in changes:
        knobs = base.knobs | {knob.name: value}
        if knobs not in tried:
            return _with_knobs(base, blueprint, knobs, note=f"{knob.name} = {value}")
    why = f"every neighbour of this candidate of {blueprint.title} was tried"
    return Proposal(failure=why, cause=DraftFailure.NOTHING_LEFT)


# What the agent reads and makes ----------------------------------------------------------------------


def _proposal(blueprint: Blueprint, scene: Scene, *, parent: str = "", note: str) -> Proposal:
    if problem := refusal_of(blueprint, scene.workload, scene.language):
        return Proposal(failure=problem, cause=DraftFailure.IMPOSSIBLE)
    candidate = Candidate(
        language=scene.language,
        sources=(write_source(blueprint, scene.workload, scene.language),),
        knobs=tried_first(blueprint, scene.workload, scene.device_class),
        structure=blueprint.fingerprint,
        parent=parent,
    )
    predicted = expected(blueprint, scene.workload, scene.device_class)
    promise = None if predicted is None else _promise(blueprint, scene)
    return Proposal(blueprint=blueprint, candidate=candidate, note=note, prior=predicted, promise=promise)


def _promise(blueprint: Blueprint, scene: Scene) -> float | None:
    """The most that the cost model expects one move on; kept, because a search has many proposals of one structure."""
    key = (
        blueprint.fingerprint,
        scene.workload.hash,
        scene.library.hash,
        scene.language,
        scene.device_class,
        scene.allowed_actions,
    )
    if key not in _promises:
        if len(_promises) >= MOST_KNOWN:
            _promises.clear()
        children = (child for _, child in moves(scene, blueprint, seed=0))
        _promises[key] = highest(expected(child, scene.workload, scene.device_class) for child in children)
    return _promises[key]


def _with_knobs(base: Candidate, blueprint: Blueprint, knobs: dict[str, KnobValue], *, note: str) -> Proposal:
    candidate = base.model_copy(update={"knobs": knobs, "parent": base.hash})
    return Proposal(blueprint=blueprint, candidate=candidate, note=note)


def _base(draft: Draft, scene: Scene) -> tuple[Candidate | None, Blueprint | None]:
    base = scene.candidates.get(draft.base) if draft.base is not None else None
    structure = draft.structure or (base.structure if base else "")
    return base, scene.blueprints.get(structure)


def _ancestor(draft: Draft, scene: Scene) -> str:
    """Hash of the candidate a new one descends from: the base, else the first one of the same structure."""
    base, _ = _base(draft, scene)
    if base is not None:
        return base.hash
    steps = [step for step, candidate in scene.candidates.items() if candidate.structure == draft.structure]
    return scene.candidates[min(steps)].hash if steps else ""


def _tried(scene: Scene, base: Candidate) -> list[dict[str, KnobValue]]:
    return [other.knobs for other in scene.candidates.values() if other.source_hash == base.source_hash]


def _ending(draft: Draft, scene: Scene) -> str:
    evaluation = scene.evaluations.get(draft.base) if draft.base is not None else None
    return str(evaluation.status) if evaluation else "no evaluation"


def _lightest(knob: Knob) -> KnobValue:
    """The least work at a time, over the most threads."""
    numbers = [choice for choice in knob.choices if type(choice) is int]
    if len(numbers) < len(knob.choices):
        return knob.default
    return max(numbers) if knob.name in SPREADING else min(numbers)


def _drawn(blueprint: Blueprint, seed: int) -> dict[str, KnobValue]:
    draw = random.Random(seed)
    return {knob.name: draw.choice(knob.choices) for knob in blueprint.knobs}
