"""What every agent is and what it may look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from search.blueprint import Blueprint
    from search.library import ActionLibrary
    from search.records import Candidate, Evaluation, Language
    from search.steps import Draft, Proposal
    from search.workload import Workload


@dataclass(frozen=True)
class Scene:
    """Everything an agent sees of a search when it answers a draft."""

    workload: Workload
    library: ActionLibrary
    language: Language
    device_class: str
    blueprints: Mapping[str, Blueprint]
    """By fingerprint; always holds the direct implementation once it exists."""
    candidates: Mapping[int, Candidate]
    """By step number: at least the draft's base."""
    evaluations: Mapping[int, Evaluation]
    """By step number: at least the draft's base, where it was evaluated."""
    allowed_actions: tuple[str, ...] = ()
    """Empty: all of the library."""


class Agent(Protocol):
    """Turns a draft into a proposal. Pure but for model calls; all randomness comes from `draft.seed`."""

    name: str

    def propose(self, draft: Draft, scene: Scene) -> Proposal:
        """Answer a draft; a refusal is a `Proposal` with `failure`, not an exception."""
        ...
