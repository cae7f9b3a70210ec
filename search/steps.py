"""What the engine asks for and what it is told: drafts, variants, proposals, outcomes, steps."""

from __future__ import annotations

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
    Usage,
)


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


class Proposal(Record):
    """An agent's answer to a draft."""

    blueprint: Blueprint | None = None
    candidate: Candidate | None = None
    failure: str = ""
    """Why there is no candidate; empty when there is one."""
    usage: Usage = Usage()
    note: str = ""
    beliefs: dict[str, Worth] = {}
    """Answer to a `judge`: worth of structures, by fingerprint; those at 0 are pruned."""
    prior: float | None = None
    """Log speed-up that a cost model predicts for the blueprint's best program; None: no model."""


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
    beliefs: dict[str, Worth] = {}
    """Answer to a `judge`, as in `Proposal`."""
    prior: float | None = None
    """As in `Proposal`; the engine keeps the first one per structure."""
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
