"""What a result changes: its step's outcome, its structure's and its search's numbers. Callers hold `events.locked`."""

from __future__ import annotations

from django.utils import timezone

from kernelsite.searches.models import (
    AttemptState,
    Evaluation,
    Search,
    Step,
    StepState,
    Structure,
    StructureStatus,
)
from search import steps
from search.blueprint import Blueprint
from search.records import EvaluationStatus, Interval, Purpose, Stage
from search.usage import Usage


def status_of(structure: Structure, search: Search) -> StructureStatus:
    """Where a structure stands, from its own and its search's columns."""
    if search.stage == Stage.EXPLORE and not search.is_final:
        if structure.open_count:
            return StructureStatus.PROBING
        if structure.passed_count:
            return StructureStatus.OPEN
        return StructureStatus.FAILED if structure.candidate_count else StructureStatus.PROPOSED
    if not structure.retained:
        return StructureStatus.DROPPED if structure.passed_count else StructureStatus.FAILED
    if search.is_final or search.stage == Stage.CONFIRM:
        return StructureStatus.TUNED
    started = structure.status == StructureStatus.TUNING
    return StructureStatus.TUNING if started else StructureStatus.RETAINED


def shift(search: Search, evaluation: Evaluation, state: AttemptState) -> Structure:
    """Move an attempt to another state and keep the counts of search and structure in step."""
    structure = Structure.objects.select_related("parent").get(pk=evaluation.candidate.structure_id)
    was = AttemptState(evaluation.state)
    evaluation.state = state
    if not evaluation.is_open:
        evaluation.lease_until = None
    if evaluation.is_beside:
        return structure
    search.queued_count -= was is AttemptState.QUEUED
    search.running_count -= was is AttemptState.LEASED
    search.queued_count += state is AttemptState.QUEUED
    search.running_count += state is AttemptState.LEASED
    structure.open_count -= not evaluation.is_open
    structure.status = status_of(structure, search)
    return structure


def count(search: Search, evaluation: Evaluation, structure: Structure, interval: Interval | None) -> None:
    """Charge a counted result and let it compete for its structure's best."""
    passed = evaluation.status == EvaluationStatus.PASSED
    search.passed_count += passed
    search.failed_count += not passed
    search.device_seconds_spent += evaluation.device_seconds
    evaluation.spent_device_seconds = round(search.device_seconds_spent, 6)
    evaluation.spent_tokens, evaluation.spent_cost_usd = search.tokens_spent, search.cost_usd_spent
    structure.passed_count += passed
    if evaluation.charged:
        search.evaluations_spent += 1
        structure.evaluation_count += 1
        evaluation.order = search.evaluations_spent
    if passed and interval is not None and _beats(evaluation, interval, structure):
        structure.best_candidate = evaluation.key
        structure.best_speedup, structure.best_low, structure.best_high = (
            interval.value,
            interval.low,
            interval.high,
        )
        structure.best_median_us = evaluation.median_us


def _beats(evaluation: Evaluation, interval: Interval, structure: Structure) -> bool:
    """A confirmed time beats any unconfirmed one; among equals the faster wins."""
    confirmed = evaluation.purpose == Purpose.CONFIRM
    best_confirmed = structure.best_candidate.endswith("c")
    if structure.best_speedup is None or confirmed is not best_confirmed:
        return structure.best_speedup is None or confirmed
    return interval.value > structure.best_speedup


def settle_waiting(search: Search, evaluation: Evaluation) -> None:
    """Give every step that waits for this measurement its outcome; all but the asking one reuse it."""
    waiting = Step.objects.filter(
        search=search,
        state=StepState.EVALUATING,
        candidate=evaluation.candidate_id,
        purpose=evaluation.purpose,
    )
    for step in waiting.order_by("number"):
        settle(search, step, outcome_of(step, evaluation, reused=step.pk != evaluation.step_id))


def settle(search: Search, step: Step, outcome: steps.Outcome) -> None:
    """Write what became of a step, once."""
    step.outcome, step.state = outcome.dump(), StepState.DONE
    step.done_at, step.lease_until = timezone.now(), None
    step.save(update_fields=["outcome", "state", "done_at", "lease_until"])
    search.reused_count += outcome.reused


def outcome_of(step: Step, evaluation: Evaluation, *, reused: bool) -> steps.Outcome:
    """What the engine learns of a step that was measured."""
    candidate, blueprint = evaluation.candidate, blueprint_of(step)
    answer = answer_of(step)
    return steps.Outcome(
        blueprint=blueprint,
        structure=blueprint.fingerprint if blueprint else candidate.structure.fingerprint,
        source_hash=candidate.source.hash,
        candidate=candidate.hash,
        knobs=candidate.knobs,
        status=EvaluationStatus(evaluation.status),
        speedup=interval_of(evaluation),
        median_us=evaluation.median_us,
        charged=evaluation.charged and not reused,
        device_seconds=0.0 if reused else evaluation.device_seconds,
        usage=usage_of(step),
        prior=answer.prior if answer else None,
        promise=answer.promise if answer else None,
        reused=reused,
    )


def failed_draft(step: Step, failure: str, cause: steps.DraftFailure | None) -> steps.Outcome:
    """What the engine learns of a draft that brought no candidate."""
    answer = answer_of(step) or steps.Proposal()
    structure = answer.blueprint.fingerprint if answer.blueprint else ""
    return steps.Outcome(
        blueprint=answer.blueprint,
        structure=structure,
        usage=usage_of(step),
        beliefs=answer.beliefs,
        prior=answer.prior,
        promise=answer.promise,
        failure=failure,
        cause=cause if failure else None,
    )


def interval_of(evaluation: Evaluation) -> Interval | None:
    """The measured speed-up, from columns."""
    if evaluation.speedup is None or evaluation.low is None or evaluation.high is None:
        return None
    return Interval(value=evaluation.speedup, low=evaluation.low, high=evaluation.high)


def answer_of(step: Step) -> steps.Proposal | None:
    """The agent's answer as it was kept, without its sources; None of a step that no agent was asked for."""
    return steps.Proposal.load(step.proposal) if step.proposal else None


def blueprint_of(step: Step) -> Blueprint | None:
    """The blueprint that the agent's answer brought."""
    document = (step.proposal or {}).get("blueprint")
    return Blueprint.load(document) if document else None


def usage_of(step: Step) -> Usage:
    """What the agent's answer cost."""
    return Usage.load((step.proposal or {}).get("usage", {}))
