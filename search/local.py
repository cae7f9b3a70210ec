"""A whole search in one process: ask, let the agent answer, evaluate, tell. No broker, no database.

The site does the same steps through rows and queues (`kernelsite/searches/driver.py`); what both must agree
on is here as pure functions: `variant_candidate`, `evaluation_request` and the two ways to an `Outcome`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from search.agents.agent import Agent, Scene
from search.agents.registry import AGENTS
from search.budget import Ending
from search.engine import Search, SearchResult
from search.library import shipped_workloads
from search.records import Candidate, Evaluation, EvaluationRequest, EvaluationStatus, Purpose, Tier
from search.steps import DraftFailure, Item, Outcome, Proposal, Step, Variant
from search.strategies import STRATEGIES

if TYPE_CHECKING:
    from search.blueprint import Blueprint
    from search.library import ActionLibrary
    from search.settings import SearchSettings
    from search.workload import Workload

Evaluate = Callable[[EvaluationRequest], Evaluation]
OnStep = Callable[[Step], None]


def run_search(
    settings: SearchSettings,
    workload: Workload,
    library: ActionLibrary,
    agent: Agent,
    evaluate: Evaluate,
    on_step: OnStep = lambda step: None,
) -> SearchResult:
    """Search until the budget or the ideas are used up, or the device fails again and again.

    Args:
        settings: hashes must be those of `workload` and `library`.
        workload: what is searched for.
        library: actions that structures are made of.
        agent: answers drafts.
        evaluate: judges one candidate; a broken device is an `INFRA_ERROR`, not an exception.
        on_step: called with every step once its outcome is told.

    Raises:
        ValueError: the settings are of another workload or library, have a review gate, or cannot run (see
            `Search`).
    """
    if settings.workload_hash != workload.hash or settings.library_hash != library.hash:
        raise ValueError("settings are frozen for another version of the workload or the library")
    if settings.stages.review:
        raise ValueError(
            "a review gate needs a reviewer, and in one process there is none: set stages.review off"
        )
    run = _Run(settings, workload, library, agent, evaluate)
    search, deadline = Search(settings), _deadline(settings)
    while asked := search.ask(settings.parallel):
        for item in asked:
            search.tell(item.number, run.outcome(item))
            on_step(search.archive.steps[item.number])
        if time.monotonic() >= deadline and not search.result().finished:
            return search.result().model_copy(update={"finished": True, "reason": Ending.WALL_SECONDS})
    return search.result()


def variant_candidate(item: Variant, base: Candidate) -> Candidate:
    """The base's source with the variant's knob values."""
    knobs = {**base.knobs, **item.knobs}
    return base.model_copy(update={"knobs": knobs, "parent": base.hash})


def tier_and_purpose(item: Item) -> tuple[Tier, Purpose]:
    """How a step is measured; drafts are always measured fast, for the search."""
    return (item.tier, item.purpose) if isinstance(item, Variant) else (Tier.FAST, Purpose.SEARCH)


def evaluation_request(
    settings: SearchSettings,
    workload: Workload,
    item: Item,
    candidate: Candidate,
    blueprint: Blueprint | None,
) -> EvaluationRequest:
    """Ask for a verdict; the contract goes along where the strategy keeps one. Id is the step's number."""
    tier, purpose = tier_and_purpose(item)
    keeps = STRATEGIES[settings.strategy].keeps_contract
    return EvaluationRequest(
        id=str(item.number),
        token="local",
        workload=workload.dump(),
        candidate=candidate,
        contract=blueprint.contract if blueprint and keeps else None,
        device_class=settings.device_class,
        tier=tier,
        purpose=purpose,
        needs_walls=settings.agent not in AGENTS
        or workload.hash not in _shipped()
        or bool(settings.starting),
    )


@cache
def _shipped() -> frozenset[str]:
    return frozenset(workload.hash for workload in shipped_workloads().values())


def failed_outcome(proposal: Proposal) -> Outcome:
    """Of a draft to which the agent brought no candidate."""
    fingerprint = proposal.blueprint.fingerprint if proposal.blueprint else ""
    # A judgement brings beliefs and nothing to measure.
    failure = proposal.failure or ("" if proposal.beliefs else "the agent brought no candidate")
    return Outcome(
        blueprint=proposal.blueprint,
        structure=fingerprint,
        usage=proposal.usage,
        beliefs=proposal.beliefs,
        prior=proposal.prior,
        failure=failure,
        cause=(proposal.cause or DraftFailure.OTHER) if failure else None,
    )


def evaluated_outcome(
    candidate: Candidate, evaluation: Evaluation, proposal: Proposal | None = None, *, reused: bool = False
) -> Outcome:
    """Of a step whose candidate was judged. A reused verdict costs nothing again."""
    blueprint = proposal.blueprint if proposal else None
    outcome = Outcome(
        blueprint=blueprint,
        structure=blueprint.fingerprint if blueprint else candidate.structure,
        source_hash=candidate.source_hash,
        candidate=candidate.hash,
        knobs=candidate.knobs,
        status=evaluation.status,
        speedup=evaluation.speedup,
        median_us=evaluation.median_us,
        charged=evaluation.charged and not reused,
        device_seconds=0.0 if reused else evaluation.device_seconds,
        failure="" if evaluation.status is EvaluationStatus.PASSED else evaluation.message,
        reused=reused,
    )
    if proposal is None:
        return outcome
    return outcome.model_copy(update={"usage": proposal.usage, "prior": proposal.prior})


@dataclass
class _Run:
    """What accumulates over the steps of one search, by step number."""

    settings: SearchSettings
    workload: Workload
    library: ActionLibrary
    agent: Agent
    evaluate: Evaluate
    blueprints: dict[str, Blueprint] = field(default_factory=dict)
    candidates: dict[int, Candidate] = field(default_factory=dict)
    evaluations: dict[int, Evaluation] = field(default_factory=dict)
    verdicts: dict[tuple[str, Tier, Purpose], Evaluation] = field(default_factory=dict)
    """By candidate hash, tier and purpose, to be reused by duplicates."""

    def outcome(self, item: Item) -> Outcome:
        """Carry out one step."""
        if isinstance(item, Variant):
            return self._judged(item, variant_candidate(item, self.candidates[item.base]), None)
        proposal = self.agent.propose(item, self._scene())
        if proposal.blueprint is not None:
            self.blueprints.setdefault(proposal.blueprint.fingerprint, proposal.blueprint)
        if proposal.candidate is None:
            return failed_outcome(proposal)
        return self._judged(item, proposal.candidate, proposal)

    def _judged(self, item: Item, candidate: Candidate, proposal: Proposal | None) -> Outcome:
        key = (candidate.hash, *tier_and_purpose(item))
        known = self.verdicts.get(key)
        evaluation = known or self.evaluate(self._request(item, candidate, proposal))
        if evaluation.status is not EvaluationStatus.INFRA_ERROR:
            self.verdicts[key] = evaluation
        self.candidates[item.number], self.evaluations[item.number] = candidate, evaluation
        return evaluated_outcome(candidate, evaluation, proposal, reused=known is not None)

    def _request(self, item: Item, candidate: Candidate, proposal: Proposal | None) -> EvaluationRequest:
        fingerprint = item.structure if isinstance(item, Variant) else candidate.structure
        brought = proposal.blueprint if proposal else None
        blueprint = brought or self.blueprints.get(fingerprint)
        return evaluation_request(self.settings, self.workload, item, candidate, blueprint)

    def _scene(self) -> Scene:
        return Scene(
            workload=self.workload,
            library=self.library,
            language=self.settings.language,
            device_class=self.settings.device_class,
            blueprints=self.blueprints,
            candidates=self.candidates,
            evaluations=self.evaluations,
            allowed_actions=self.settings.allowed_actions,
        )


def _deadline(settings: SearchSettings) -> float:
    cap = settings.budget.wall_seconds
    return float("inf") if cap is None else time.monotonic() + cap
