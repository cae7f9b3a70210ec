"""What the engine asks for and what it is told: drafts, variants, proposals, outcomes, steps."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from search.blueprint import Blueprint
from search.records import (
    Candidate,
    DraftKind,
    EvaluationStatus,
    Interval,
    KnobValue,
    Purpose,
    Record,
    Stage,
    Tier,
)
from search.usage import Usage


class Draft(Record):
    """Work for an agent: it answers with a `Proposal`, which is then evaluated."""

    type: Literal["draft"] = "draft"
    number: int
    """Step number, 1.. within the search."""
    kind: DraftKind
    stage: Stage
    seed: int
    """Drawn from (search seed, number); the only randomness an agent may use."""
    structure: str = ""
    """Fingerprint to start from: the parent to extend (explore), or the one to write, repair or refine."""
    base: int | None = None
    """Step whose candidate is the starting source (repair, refine)."""
    exclude: tuple[str, ...] = ()
    """Fingerprints already tried or dropped; an explore must bring another."""
    why: str = ""
    """One line for people: why the engine asks for this now."""
    priority: dict[str, float] = {}
    """Named parts whose sum chose the parent of an exploration; for the page."""
    beliefs: dict[str, float] = {}
    """Worth of the open structures, by fingerprint, when this was asked; of strategies that hold beliefs."""


class Variant(Record):
    """The source of an earlier step with other knob values, or the same ones measured again."""

    type: Literal["variant"] = "variant"
    number: int
    stage: Stage
    structure: str
    base: int
    """Step whose candidate's source is used."""
    knobs: dict[str, KnobValue]
    tier: Tier = Tier.FAST
    purpose: Purpose = Purpose.SEARCH
    why: str = ""
    beliefs: dict[str, float] = {}
    """As in `Draft`."""


Worth = Annotated[float, Field(ge=0, le=1)]

Item = Annotated[Draft | Variant, Field(discriminator="type")]


class DraftFailure(StrEnum):
    """Why a draft brought nothing to measure; the failure's text says it in full."""

    NO_PROGRAM = "no_program"
    """The reply holds no program that can be used."""
    UNREADABLE = "unreadable"
    """The reply is not the JSON that was asked for."""
    TRUNCATED = "truncated"
    REFUSED = "refused"
    EMPTY = "empty"
    BROKEN_ANSWER = "broken_answer"
    """What came back was no complete chat completion."""
    IMPOSSIBLE = "impossible"
    """No structure that can be built, is allowed and is new."""
    DUPLICATE = "duplicate"
    """A program that was measured before."""
    NOTHING_LEFT = "nothing_left"
    """The agent sees nothing to try from here; no fault."""
    NO_ROOM = "no_room"
    """The question does not fit into the model's context."""
    NOT_ASKED = "not_asked"
    """A cap or a person came before the question."""
    LOST = "lost"
    """The agent fell silent."""
    NOT_RECORDED = "not_recorded"
    """The transcript that answers does not hold the question."""
    OTHER = "other"


class Proposal(Record):
    """An agent's answer to a draft."""

    blueprint: Blueprint | None = None
    candidate: Candidate | None = None
    failure: str = ""
    """Why there is no candidate; empty when there is one."""
    cause: DraftFailure | None = None
    """Kind of the failure, where the agent tells it."""
    usage: Usage = Usage()
    note: str = ""
    beliefs: dict[str, Worth] = {}
    """Answer to a `judge`: worth of structures, by fingerprint; those at 0 are pruned."""
    prior: float | None = None
    """Log speed-up that a cost model predicts for the blueprint's best program; None: no model."""
    promise: float | None = None
    """Highest such speed-up of a structure one move on; None: no model, or no move."""


class Outcome(Record):
    """What became of one step; the only thing the engine learns about the world."""

    blueprint: Blueprint | None = None
    """Given when the step brought a structure; the engine keeps the first one per fingerprint."""
    structure: str = ""
    source_hash: str = ""
    candidate: str = ""
    """Candidate hash; empty when the agent brought none."""
    knobs: dict[str, KnobValue] = {}
    status: EvaluationStatus | None = None
    """None: never evaluated (the agent failed or the step was lost for good)."""
    speedup: Interval | None = None
    median_us: float | None = None
    charged: bool = False
    device_seconds: float = 0.0
    usage: Usage = Usage()
    failure: str = ""
    cause: DraftFailure | None = None
    """Kind of the failure of a draft that brought no candidate; `OTHER` where its agent told none."""
    beliefs: dict[str, Worth] = {}
    """Answer to a `judge`, as in `Proposal`."""
    prior: float | None = None
    """As in `Proposal`; the engine keeps the first one per structure."""
    promise: float | None = None
    """As `prior`."""
    reused: bool = False
    """A duplicate that took the earlier evaluation's answer."""


class Step(Record):
    """One numbered step: what was asked and, once known, what came of it."""

    item: Item
    outcome: Outcome | None = None

    @property
    def number(self) -> int:
        """Number of the step."""
        return self.item.number
