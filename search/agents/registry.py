"""The agents that a search may use, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.agents.playbook.agent import PlaybookAgent

if TYPE_CHECKING:
    from collections.abc import Callable

    from search.agents.agent import Agent

AGENTS: dict[str, Callable[[], Agent]] = {"playbook": PlaybookAgent}
