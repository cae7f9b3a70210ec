"""What every agent is and what it may look at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from search.blueprint import Blueprint
    from search.library import ActionLibrary
    from search.records import Candidate, Evaluation, EvaluationStatus, KnobValue, Language
    from search.steps import Draft, Proposal
    from search.workload import Workload


@dataclass(frozen=True)
class Tried:
    """One finished step of the search, as an agent remembers it."""

    number: int
    structure: str
    """Fingerprint; empty where the step brought none."""
    title: str
    """Of the structure."""
    status: EvaluationStatus | None = None
    """None: it brought no program."""
    speedup: float | None = None
    """Over the baseline; only of a pass."""
    failure: str = ""
    """Why it did not pass; text of compilers, kernels and models, hostile."""
    note: str = ""
    """What the agent said of it."""
    knobs: Mapping[str, KnobValue] = field(default_factory=dict)
    reused: bool = False
    """A duplicate of an earlier program."""


@dataclass(frozen=True)
class Experience:
    """What an action brought in finished searches of the same team on workloads with a trait, on one device class."""

    action: str
    trait: str
    device_class: str
    gain: float
    """Geometric mean, over `trials`, of the best speed-up with the action by that of the structure it was added to."""
    trials: int
    wins: int
    """Trials in which the gain was above one."""


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
    tried: tuple[Tried, ...] = ()
    """Finished steps in order; empty: an agent derives them from the candidates it is shown."""
    experience: tuple[Experience, ...] = ()
    planner_replies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Planners' complete answers in this search, oldest first, by the fingerprint of the structure that was to be
    extended: structures in them that were not used yet are taken before a planner is asked again."""
    device_facts: Mapping[str, str] = field(default_factory=dict)
    """What is known of the device, e.g. its name; nothing that a model's provider must not see."""
    starting: tuple[Candidate, ...] = ()
    """Programs that somebody had before the search; of strangers, like all sources."""
    keeps_contract: bool = True
    """Whether the strategy holds candidates to the contract of their structure."""


class Agent(Protocol):
    """Turns a draft into a proposal. Pure but for model calls; all randomness comes from `draft.seed`."""

    name: str

    def propose(self, draft: Draft, scene: Scene) -> Proposal:
        """Answer a draft; a refusal is a `Proposal` with `failure`, not an exception."""
        ...
