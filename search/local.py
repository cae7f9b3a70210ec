"""A whole search in one process: ask, let the agent answer, evaluate, tell. No broker, no database.

The site does the same steps through rows and queues (`kernelsite/searches/driver.py`); what both must agree
on is here as pure functions: `variant_candidate`, `evaluation_request` and the two ways to an `Outcome`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING

from search.agents.agent import Agent, Scene
from search.agents.registry import AGENTS
from search.budget import Ending
from search.engine import Search, SearchResult
from search.library import shipped_workloads
from search.records import Candidate, Evaluation, EvaluationRequest, EvaluationStatus, Purpose, Tier
from search.steps import Draft, DraftFailure, Item, Outcome, Proposal, Step, Variant
from search.strategies import STRATEGIES

if TYPE_CHECKING:
    from search.blueprint import Blueprint
    from search.library import ActionLibrary
    from search.settings import SearchSettings
    from search.workload import Workload

Evaluate = Callable[[EvaluationRequest], Evaluation]
EvaluateMany = Callable[[Sequence[EvaluationRequest]], Iterable[Evaluation]]
OnStep = Callable[[Step], None]


def run_search(
    settings: SearchSettings,
    workload: Workload,
    library: ActionLibrary,
    agent: Agent,
    evaluate: EvaluateMany,
    on_step: OnStep = lambda step: None,
) -> SearchResult:
    """Search until the budget or the ideas are used up, or the device fails again and again.

    Args:
        settings: hashes must be those of `workload` and `library`.
        workload: what is searched for.
        library: actions that structures are made of.
        agent: answers drafts.
        evaluate: judges candidates of steps that are in flight together, in order; a broken device is an `INFRA_ERROR`,
            not an exception. `one_by_one` makes it of a function for one.
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
        for item, outcome in run.outcomes(asked):
            search.tell(item.number, outcome)
            on_step(search.archive.steps[item.number])
        if time.monotonic() >= deadline and not search.result().finished:
            return search.result().model_copy(update={"finished": True, "reason": Ending.WALL_SECONDS})
    return search.result()


def one_by_one(evaluate: Evaluate) -> EvaluateMany:
    """For a device that does nothing else while it judges a candidate."""
    return partial(map, evaluate)


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
        promise=proposal.promise,
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
    told = {"usage": proposal.usage, "prior": proposal.prior, "promise": proposal.promise}
    return outcome.model_copy(update=told)


_Drafted = tuple[Item, Candidate, Proposal | None]
_Key = tuple[str, Tier, Purpose]
"""What two steps agree in when one verdict is enough for both: candidate hash, tier and purpose."""


def _key(item: Item, candidate: Candidate, _: Proposal | None) -> _Key:
    return candidate.hash, *tier_and_purpose(item)


@dataclass
class _Run:
    """What accumulates over the steps of one search, by step number."""

    settings: SearchSettings
    workload: Workload
    library: ActionLibrary
    agent: Agent
    evaluate: EvaluateMany
    blueprints: dict[str, Blueprint] = field(default_factory=dict)
    candidates: dict[int, Candidate] = field(default_factory=dict)
    evaluations: dict[int, Evaluation] = field(default_factory=dict)
    verdicts: dict[_Key, Evaluation] = field(default_factory=dict)
    """To be reused by duplicates."""

    def outcomes(self, items: Sequence[Item]) -> Iterator[tuple[Item, Outcome]]:
        """Carry out steps that are in flight together; those with nothing to measure come first."""
        drafted: list[_Drafted] = []
        for item in items:
            if isinstance(item, Variant):
                drafted.append((item, variant_candidate(item, self.candidates[item.base]), None))
                continue
            proposal = self._proposal(item)
            if proposal.candidate is None:
                yield item, failed_outcome(proposal)
            else:
                drafted.append((item, proposal.candidate, proposal))
        yield from self._judged(drafted)

    def _proposal(self, item: Draft) -> Proposal:
        proposal = self.agent.propose(item, self._scene())
        if proposal.blueprint is not None:
            self.blueprints.setdefault(proposal.blueprint.fingerprint, proposal.blueprint)
        return proposal

    def _judged(self, drafted: Sequence[_Drafted]) -> Iterator[tuple[Item, Outcome]]:
        requests: dict[_Key, EvaluationRequest] = {}
        for one in drafted:
            if (key := _key(*one)) not in self.verdicts:
                requests.setdefault(key, self._request(*one))
        answers = iter(self.evaluate(list(requests.values())))
        told: dict[_Key, Evaluation] = {}
        for item, candidate, proposal in drafted:
            key = _key(item, candidate, proposal)
            known = self.verdicts.get(key) or told.get(key)
            evaluation = told[key] = known or next(answers)
            if evaluation.status is not EvaluationStatus.INFRA_ERROR:
                self.verdicts[key] = evaluation
            self.candidates[item.number], self.evaluations[item.number] = candidate, evaluation
            yield item, evaluated_outcome(candidate, evaluation, proposal, reused=known is not None)

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
