"""Which of several models answers a request. The same request is always given to the same one.

A repeated call of a resumed search must not wander to another model, so chance is drawn from the request.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from search.agents.llm.outcomes import ModelRequest


class Choice(Protocol):
    """Picks by name."""

    def pick(self, names: Sequence[str], request: ModelRequest) -> str:
        """One of the names."""
        ...


@dataclass(frozen=True)
class Share:
    """Each model answers its share of the requests."""

    weights: Mapping[str, float]
    """Names that are missing have weight 1."""

    def pick(self, names: Sequence[str], request: ModelRequest) -> str:
        """Draw by weight."""
        weights = [self.weights.get(name, 1.0) for name in names]
        return _chance(request).choices(list(names), weights if any(weights) else None)[0]


@dataclass(frozen=True)
class TrackRecord:
    """How a model did in this search."""

    drafts: int = 0
    gains: int = 0
    """Drafts whose candidate was correct and better than its parent."""


@dataclass(frozen=True)
class Bandit:
    """Thompson sampling: each model's share of gains is drawn from its posterior, the highest draw answers.

    Beta(1 + gains, 1 + drafts without one), the uniform prior of Chapelle and Li, "An Empirical Evaluation of
    Thompson Sampling" (NIPS 2011).
    """

    records: Mapping[str, TrackRecord]

    def pick(self, names: Sequence[str], request: ModelRequest) -> str:
        """Draw once per model."""
        chance = _chance(request)
        draws = {name: self._draw(name, chance) for name in names}
        return max(draws, key=lambda name: draws[name])

    def _draw(self, name: str, chance: random.Random) -> float:
        record = self.records.get(name, TrackRecord())
        return chance.betavariate(1 + record.gains, 1 + record.drafts - record.gains)


def _chance(request: ModelRequest) -> random.Random:
    return random.Random(request.hash)
