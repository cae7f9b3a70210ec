"""The agents that a search may use, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.agents.playbook.agent import PlaybookAgent
from search.agents.recorded import RecordedAgent
from search.landscapes.files import is_recorded

if TYPE_CHECKING:
    from collections.abc import Callable

    from search.agents.agent import Agent

PLAYBOOK = PlaybookAgent.name
AGENTS: dict[str, Callable[[], Agent]] = {PLAYBOOK: PlaybookAgent, "recorded": RecordedAgent}


def default_agent(device_class: str) -> str:
    """Name of the agent that is used where none is chosen: a recorded device knows only recorded sources."""
    return "recorded" if is_recorded(device_class) else PLAYBOOK
