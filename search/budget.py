"""What a search has spent, what is still reserved by steps in flight, and why it ended.

Evaluations are counted exactly: a step in flight holds one until its outcome says whether it was charged,
so the cap is never passed. Seconds, tokens and cost are known only afterwards: what is still to come is
expected to cost the mean so far. A cap on seconds thus becomes a smaller number of evaluations, which the
stages share as they share any other.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING

from search.records import Record, Stage
from search.steps import Draft, Item, Outcome, Variant

if TYPE_CHECKING:
    from search.settings import Budget


class Ending(StrEnum):
    """Why a search ended, as shown to people."""

    EVALUATIONS = "evaluations spent"
    DEVICE_SECONDS = "device seconds spent"
    WALL_SECONDS = "wall seconds spent"
    TOKENS = "tokens spent"
    COST = "cost spent"
    FLOOR = "as fast as the floor allows"
    STAGNATION = "no gain for too long"
    EXHAUSTED = "nothing left to try"
    NOTHING_CORRECT = "no correct candidate"
    DEVICE_ERRORS = "the device failed again and again"
    STEPS = "too many steps without an evaluation"


class Spent(Record):
    """What was used up; `calls` are model calls."""

    evaluations: int = 0
    device_seconds: float = 0.0
    tokens: int = 0
    cost_usd: float = 0.0
    calls: int = 0

    def plus(self, outcome: Outcome) -> Spent:
        """After one more outcome. A failed agent call costs tokens although nothing was evaluated."""
        usage = outcome.usage
        return Spent(
            evaluations=self.evaluations + outcome.charged,
            # An infrastructure failure is free on every axis of the device.
            device_seconds=self.device_seconds + (outcome.device_seconds if outcome.charged else 0.0),
            tokens=self.tokens + usage.prompt_tokens + usage.completion_tokens,
            cost_usd=self.cost_usd + usage.cost_usd,
            calls=self.calls + usage.calls,
        )


class Ledger:
    """Running account of one search. Does not depend on the order in which outcomes arrive."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.by_stage: dict[Stage, Spent] = {}
        self.by_structure: dict[str, Spent] = {}
        """Without what belongs to no structure: drafts that brought none."""
        self.reserved = 0
        """Evaluations held by steps in flight."""
        self._drafts = Counter[str]()

    @property
    def spent(self) -> Spent:
        """Over all stages."""
        stages = [self.by_stage.get(stage, Spent()) for stage in Stage]
        return Spent(
            evaluations=sum(stage.evaluations for stage in stages),
            device_seconds=sum(stage.device_seconds for stage in stages),
            tokens=sum(stage.tokens for stage in stages),
            cost_usd=sum(stage.cost_usd for stage in stages),
            calls=sum(stage.calls for stage in stages),
        )

    def reserve(self, item: Item) -> None:
        """Hold one evaluation for a step that was asked."""
        self.reserved += 1
        self._drafts["asked"] += isinstance(item, Draft)

    def settle(self, item: Item, outcome: Outcome) -> None:
        """Replace the reservation by what the step really cost."""
        self.reserved -= 1
        self._drafts["told"] += isinstance(item, Draft)
        self.by_stage[item.stage] = self.by_stage.get(item.stage, Spent()).plus(outcome)
        if structure := outcome.structure or (item.structure if isinstance(item, Variant) else ""):
            self.by_structure[structure] = self.by_structure.get(structure, Spent()).plus(outcome)

    @property
    def total(self) -> int:
        """Evaluations that the budget pays for: the cap, or what the device seconds buy at the mean so far."""
        spent, cap = self.spent, self.budget.device_seconds
        if cap is None or spent.device_seconds == 0:
            return self.budget.evaluations
        # Rounded up a little, so that the order in which seconds were summed cannot decide.
        affordable = cap * spent.evaluations / spent.device_seconds + 1e-6
        return int(min(self.budget.evaluations, affordable))

    def left(self, allowance: int) -> int:
        """Evaluations that may still be asked for below a cumulative allowance."""
        return max(0, min(allowance, self.total) - self.spent.evaluations - self.reserved)

    @property
    def may_draft(self) -> bool:
        """Whether tokens and money allow another call of an agent; variants cost neither."""
        return self.draft_ending is None

    @property
    def ending(self) -> Ending | None:
        """The cap of the device that is reached, if one is."""
        spent = self.spent.evaluations
        if spent >= self.budget.evaluations:
            return Ending.EVALUATIONS
        return Ending.DEVICE_SECONDS if spent >= self.total else None

    @property
    def draft_ending(self) -> Ending | None:
        """The cap of the agent that is reached, if one is."""
        spent = self.spent
        told, asked = self._drafts["told"], self._drafts["asked"]
        ahead = 1 + (asked - told) / told if told else 1.0
        if self.budget.tokens is not None and spent.tokens * ahead >= self.budget.tokens:
            return Ending.TOKENS
        if self.budget.cost_usd is not None and spent.cost_usd * ahead >= self.budget.cost_usd:
            return Ending.COST
        return None
