"""An agent that begins with programs that somebody had before the search, in one process as the site's does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from search.agents.agent import Agent, Scene
    from search.records import Candidate
    from search.steps import Draft, Proposal


class Beginning:
    """See `search.agents.agent.Agent`."""

    def __init__(self, agent: Agent, starting: tuple[Candidate, ...]) -> None:
        """Show programs to an agent.

        Args:
            agent: answers the drafts.
            starting: the programs; the search's settings name them by their hashes.
        """
        self.name = agent.name
        self._agent = agent
        self._starting = starting

    def propose(self, draft: Draft, scene: Scene) -> Proposal:
        """Answer a draft, with the programs in the scene."""
        return self._agent.propose(draft, replace(scene, starting=self._starting))
