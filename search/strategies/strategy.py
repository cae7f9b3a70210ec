"""What a strategy is made of: phases as data, and the turn in which one step is chosen.

A phase asks until it has nothing to ask or its allowance is spent; once its steps in flight have come home
the next phase begins. A phase is a pure function of its turn.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from search.records import DraftKind, KnobValue, Purpose, Stage, Tier
from search.steps import Draft, Item, Variant
from search.tuning import Tuner, draw_seed

if TYPE_CHECKING:
    from search.archive import Archive
    from search.budget import Ledger
    from search.settings import SearchSettings, StageSettings
    from search.structure import Structure


@dataclass(frozen=True)
class Turn:
    """Everything that may be looked at when step `number` is chosen."""

    settings: SearchSettings
    archive: Archive
    ledger: Ledger
    tuner: Tuner
    number: int
    allowance: int
    """Evaluations that may have been spent when the phase ends."""
    retained: tuple[str, ...] = ()
    """Structures kept for stage 2; empty before they are chosen."""

    @property
    def stages(self) -> StageSettings:
        """How the two stages divide the work."""
        return self.settings.stages

    @property
    def left(self) -> int:
        """Evaluations that the phase may still ask for."""
        return self.ledger.left(self.allowance)

    @property
    def seed(self) -> int:
        """Drawn from the search's seed and the number of the step."""
        return draw_seed(self.settings.seed, self.number)

    def random(self) -> random.Random:
        """The only randomness of a strategy."""
        return random.Random(self.seed)

    def draft(
        self,
        kind: DraftKind,
        stage: Stage,
        *,
        structure: str = "",
        base: int | None = None,
        why: str,
        priority: dict[str, float] | None = None,
    ) -> Draft:
        """Work for the agent; it is told every structure known so far."""
        known = sorted(self.archive.structures.values(), key=lambda each: each.first)
        return Draft(
            number=self.number,
            kind=kind,
            stage=stage,
            seed=self.seed,
            structure=structure,
            base=base,
            exclude=tuple(each.fingerprint for each in known),
            why=why,
            priority=priority or {},
        )

    def variant(
        self, stage: Stage, structure: Structure, base: int, knobs: dict[str, KnobValue], why: str
    ) -> Variant:
        """The same source with other knob values; at the full tier when it confirms."""
        confirms = stage is Stage.CONFIRM
        return Variant(
            number=self.number,
            stage=stage,
            structure=structure.fingerprint,
            base=base,
            knobs=knobs,
            tier=Tier.FULL if confirms else Tier.FAST,
            purpose=Purpose.CONFIRM if confirms else Purpose.SEARCH,
            why=why,
        )


Move = Callable[[Turn], Item | None]
"""Chooses a step, or has nothing to ask now."""


@dataclass(frozen=True)
class Phase:
    """One stage of the stage machine."""

    stages: frozenset[Stage]
    """Stages that its steps may carry."""
    allowance: Callable[[StageSettings, int], int]
    """Of all the evaluations that the budget pays for, how many may have been spent when it ends."""
    ask: Move


@dataclass(frozen=True)
class Strategy:
    """A named way to spend a budget."""

    name: str
    title: str
    """One line for people."""
    phases: tuple[Phase, ...]
    keeps_contract: bool
    """Whether its candidates are held to the contract of their structure."""
    retain: Callable[[Turn], tuple[str, ...]] | None = None
    """Chooses the structures kept when the first phase is over."""


def finalists(stages: StageSettings, total: int) -> int:
    """Evaluations held back for the confirmation, at most half of all."""
    return min(stages.finalists, total // 2)


def search_share(stages: StageSettings, total: int) -> int:
    """Evaluations for everything but the confirmation."""
    return total - finalists(stages, total)


def explore_share(stages: StageSettings, total: int) -> int:
    """Evaluations for stage 1; at least one remains for stage 2."""
    searched = search_share(stages, total)
    return max(1, min(int(stages.explore_share * searched), searched - 1))


def whole_budget(stages: StageSettings, total: int) -> int:
    """Everything."""
    return total
