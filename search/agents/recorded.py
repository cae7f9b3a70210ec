"""The agent of a landscape: it draws blueprints and sources from what was recorded, by the playbook's moves.

A structure that was not recorded does not exist for it. Knobs are the recorded ones, so that a tuner asks only
for points that were measured.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from search.agents.expected import expected, favour, highest, tried_first
from search.agents.playbook.agent import PlaybookAgent
from search.landscapes.files import LandscapeError, landscape_of
from search.records import DraftKind
from search.steps import DraftFailure, Proposal
from search.usage import Usage

if TYPE_CHECKING:
    from search.agents.agent import Scene
    from search.landscapes.landscape import Landscape
    from search.steps import Draft


class RecordedAgent:
    """See `search.agents.agent.Agent`; each answer counts as one call."""

    name = "recorded"

    def __init__(self, landscape: Landscape | None = None, failure: float = 0.0) -> None:
        """Answer from a landscape, or from the one that the scene's device class names.

        Args:
            landscape: None to find it by the scene.
            failure: chance that a new structure, or another try at one, brings no source; drawn by the draft's seed.
        """
        self._landscape = landscape
        self._failure = failure
        self._playbook = PlaybookAgent()

    def propose(self, draft: Draft, scene: Scene) -> Proposal:
        """Answer a draft; a refusal is a `Proposal` with `failure`."""
        try:
            landscape = self._landscape or landscape_of(scene.device_class, scene.workload)
        except LandscapeError as error:
            return Proposal(failure=str(error))
        match draft.kind:
            case DraftKind.INSTANTIATE:
                place = landscape.by_fingerprint.get(draft.structure) if draft.structure else 0
                answer = self._written(landscape, place, draft, scene)
            case DraftKind.EXPLORE:
                answer = self._written(landscape, _next_place(landscape, draft, scene), draft, scene)
            case _:
                # Repairs and refinements change knobs of the source at hand, as the playbook does.
                answer = self._playbook.propose(draft, scene)
        return answer.model_copy(update={"usage": Usage(calls=1)})

    def _written(self, landscape: Landscape, place: int | None, draft: Draft, scene: Scene) -> Proposal:
        if place is None:
            why = "no recorded structure is left to try from here"
            return Proposal(failure=why, cause=DraftFailure.NOTHING_LEFT)
        structure = landscape.structures[place]
        blueprint, predicted = structure.blueprint, _expected(landscape, place)
        promise = _promise(landscape, place)
        if random.Random(f"{draft.seed} failure").random() < self._failure:
            why = "simulated: the agent brought no source"
            cause = DraftFailure.NO_PROGRAM
            return Proposal(blueprint=blueprint, failure=why, cause=cause, prior=predicted, promise=promise)
        first = tried_first(blueprint, landscape.workload, landscape.environment.device_class, landscape.case)
        candidate = structure.candidate(landscape.language, first)
        return Proposal(
            blueprint=blueprint,
            candidate=candidate,
            note=landscape.label,
            prior=predicted,
            promise=promise,
        )


def _next_place(landscape: Landscape, draft: Draft, scene: Scene) -> int | None:
    """A child that is not excluded, drawn in proportion to the moves' weights and to what the cost model expects."""
    parent = landscape.by_fingerprint.get(draft.structure)
    moves = landscape.moves
    draw = random.Random(draft.seed)
    best: tuple[float, int] | None = None
    for row, place in enumerate(moves.parent):
        child = landscape.structures[moves.child[row]].blueprint
        allowed = not scene.allowed_actions or set(child.actions) <= set(scene.allowed_actions)
        if place != parent or not allowed or child.fingerprint in draft.exclude:
            continue
        worth = moves.weight[row] * favour(
            _expected(landscape, place), _expected(landscape, moves.child[row])
        )
        key = draw.random() ** (1 / worth)
        if best is None or key > best[0]:
            best = (key, moves.child[row])
    return best[1] if best else None


def _promise(landscape: Landscape, place: int) -> float | None:
    moves = landscape.moves
    children = [child for parent, child in zip(moves.parent, moves.child, strict=True) if parent == place]
    return highest(_expected(landscape, child) for child in children)


def _expected(landscape: Landscape, place: int) -> float | None:
    blueprint = landscape.structures[place].blueprint
    return expected(blueprint, landscape.workload, landscape.environment.device_class, landscape.case)
