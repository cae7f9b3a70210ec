"""Frozen settings of a search: budget, the two stages, and everything that makes it repeatable."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from search.records import Language, Record, Sha256


class Budget(Record):
    """Caps of a search; arms of a comparison are matched on `evaluations` unless stated."""

    evaluations: Annotated[int, Field(ge=4, le=100_000)]
    device_seconds: Annotated[float, Field(gt=0)] | None = None
    wall_seconds: Annotated[float, Field(gt=0)] | None = None
    tokens: Annotated[int, Field(gt=0)] | None = None
    cost_usd: Annotated[float, Field(gt=0)] | None = None


MOST_STARTING = 4
"""Programs that a search may begin with."""


class StageSettings(Record):
    """How the two stages divide the work."""

    explore_share: Annotated[float, Field(ge=0.1, le=0.9)] = 0.5
    """Share of the evaluations that stage 1 may spend."""
    retain: Annotated[int, Field(ge=1, le=16)] = 2
    """Structures kept for stage 2."""
    probes: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    """Rung ladder of knob trials that a structure gets before it is judged."""
    policy: Literal["equal", "halving", "bandit"] = "equal"
    """How stage 2 divides its evaluations among the kept structures (`strategies/policies.py`)."""
    review: bool = False
    """Whether a person decides what is kept: stage 2 waits for a `Decision` (`review.py`)."""
    stagnation: Annotated[int, Field(ge=4)] | None = None
    """Search trials without a gain of 1 % after which a stage ends. Off: arms of a comparison spend the same."""
    floor_speedup: Annotated[float, Field(gt=0)] | None = None
    """Speed-up at the workload's floor; a program that surely reaches 95 % of it ends the search."""
    edits: Annotated[int, Field(ge=0, le=16, exclude_if=lambda value: not value)] = 0
    """Source edits that the agent is asked for in each kept structure in stage 2, each held to the contract."""
    repairs: Annotated[int, Field(ge=0, le=5)] = 3
    finalists: Annotated[int, Field(ge=1, le=8)] = 2
    """Best candidates measured again, fresh and at the full tier, inside the budget."""
    sampler: Literal["shared", "tpe", "random", "gp"] = "shared"
    """`shared` models all structures of the search at once (`surrogate.py`); the others are Optuna's, one by one."""


class SearchSettings(Record):
    """Frozen settings of one search: with the same history they give the same next step."""

    workload: str
    """Slug of the workload."""
    workload_hash: Sha256
    library: str
    library_hash: Sha256
    strategy: str
    agent: str = "playbook"
    language: Language
    device_class: str
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    budget: Budget
    stages: StageSettings = StageSettings()
    allowed_actions: tuple[str, ...] = ()
    """Empty: all of the library."""
    parallel: Annotated[int, Field(ge=1, le=64)] = 1
    """Steps in flight at a time."""
    starting: Annotated[
        tuple[Sha256, ...], Field(max_length=MOST_STARTING, exclude_if=lambda value: not value)
    ] = ()
    """Programs that somebody had before, by candidate hash: shown to a model when it writes a structure's first one."""
