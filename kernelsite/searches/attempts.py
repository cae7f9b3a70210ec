"""Life of an evaluation attempt: queued, started, alive, recorded, lost. Everything here is safe to run twice."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from django.utils import timezone

from kernelsite.searches import beside, dispatch, events, fold
from kernelsite.searches.limits import limits, seconds
from kernelsite.searches.models import (
    OPEN_ATTEMPTS,
    AttemptState,
    Candidate,
    Evaluation,
    Search,
    Step,
    StepState,
    Structure,
    StructureStatus,
)
from kernelsite.searches.models.work import BESIDE
from search import records
from search.records import EvaluationStatus, EventKind, Purpose, Stage

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from pydantic import JsonValue

log = logging.getLogger(__name__)

RETRIED = (AttemptState.LOST, AttemptState.INFRA)


class RecordMismatchError(Exception):
    """A result speaks of another candidate, tier or purpose than its attempt."""


def evaluate(search: Search, step: Step, candidate: Candidate) -> None:
    """Have a step's candidate measured, or take the answer that the search has or awaits."""
    step.candidate, step.structure, step.state = candidate, candidate.structure, StepState.EVALUATING
    step.save(update_fields=["candidate", "structure", "state", "tier", "purpose", "proposal"])
    current = _rows().filter(candidate=candidate, purpose=step.purpose, current=True).first()
    if current is None or current.state in (*RETRIED, AttemptState.CANCELLED):
        queue_attempt(search, step, candidate)
    else:
        _reuse(search, step, current)


def queue_attempt(search: Search, step: Step, candidate: Candidate) -> Evaluation:
    """Write the next attempt of a step and give it to the broker on commit."""
    Evaluation.objects.filter(candidate=candidate, purpose=step.purpose, current=True).update(current=False)
    evaluation = Evaluation.objects.create(
        search=search,
        candidate=candidate,
        step=step,
        purpose=step.purpose,
        tier=step.tier,
        attempt=step.evaluations.count() + 1,
    )
    search.queued_count += 1
    structure = Structure.objects.select_related("parent").get(pk=candidate.structure_id)
    structure.open_count += 1
    if step.stage == Stage.TUNE:
        structure.status = StructureStatus.TUNING
    structure.status = fold.status_of(structure, search)
    structure.save(update_fields=["open_count", "status"])
    text = f"{evaluation.key} queued" + (f", attempt {evaluation.attempt}" if evaluation.attempt > 1 else "")
    events.append(search, EventKind.QUEUED, text, structure=structure, evaluation=evaluation)
    dispatch.evaluate_later(evaluation.pk)
    return evaluation


def _reuse(search: Search, step: Step, current: Evaluation) -> None:
    """Mark a duplicate; it takes the earlier measurement's answer, now or when that arrives."""
    Evaluation.objects.create(
        search=search,
        candidate=current.candidate,
        step=step,
        purpose=step.purpose,
        tier=step.tier,
        attempt=step.evaluations.count() + 1,
        current=False,
        state=AttemptState.REUSED,
        status=current.status,
        note=f"same program as step {current.step.number}",
        finished_at=timezone.now(),
    )
    if not current.is_open:
        fold.settle(search, step, fold.outcome_of(step, current, reused=True))
    text = f"step {step.number} is the same program as {current.key}: its measurement is reused"
    events.append(search, EventKind.RECORDED, text)


def _rows() -> QuerySet[Evaluation]:
    return Evaluation.objects.select_related("candidate__structure", "candidate__source", "step")


def _open_row(evaluation_id: int, token: str) -> Evaluation | None:
    """The attempt, when the token is its own; the caller holds the search locked."""
    evaluation = _rows().filter(pk=evaluation_id).first()
    if evaluation is None or evaluation.token != token:
        log.warning("evaluation %s: message with a foreign token dropped", evaluation_id)
        return None
    return evaluation


def _search_of(evaluation_id: int) -> int | None:
    return Evaluation.objects.filter(pk=evaluation_id).values_list("search_id", flat=True).first()


def start(evaluation_id: int, token: str) -> None:
    """A device has begun; the lease runs from here. Also renews, when it had begun already."""
    until = timezone.now() + seconds(limits().evaluation_lease_s)
    open_rows = Evaluation.objects.filter(pk=evaluation_id, token=token)
    if open_rows.filter(state=AttemptState.LEASED).update(lease_until=until):
        return
    search_id = open_rows.filter(state=AttemptState.QUEUED).values_list("search_id", flat=True).first()
    if search_id is None:
        return
    with events.locked(search_id) as search:
        evaluation = _open_row(evaluation_id, token)
        if evaluation is None or evaluation.state != AttemptState.QUEUED:
            return
        fold.shift(search, evaluation, AttemptState.LEASED)
        evaluation.lease_until, evaluation.started_at = until, timezone.now()
        evaluation.save(update_fields=["state", "lease_until", "started_at"])
        events.append(search, EventKind.STARTED, f"{evaluation.key} runs", evaluation=evaluation)


def record(evaluation_id: int, token: str, document: dict[str, JsonValue]) -> None:
    """Take a result by compare-and-set on attempt and token; late and double ones are kept, uncounted.

    Raises:
        RecordMismatchError: the result is not of this attempt's candidate, tier and purpose.
        pydantic.ValidationError: it is no evaluation.
    """
    answer = records.Evaluation.load(document)
    search_id = _search_of(evaluation_id)
    if search_id is None:
        log.warning("evaluation %s: result of an unknown attempt dropped", evaluation_id)
        return
    with events.locked(search_id) as search:
        evaluation = _open_row(evaluation_id, token)
        if evaluation is None:
            return
        _check(evaluation, answer)
        if not evaluation.is_open:
            _keep_late(evaluation, document)
        elif answer.status is EvaluationStatus.INFRA_ERROR:
            _write(evaluation, answer, document)
            _close(search, evaluation, AttemptState.INFRA, answer.message or "infrastructure failure")
        elif evaluation.is_beside:
            _write(evaluation, answer, document)
            beside.keep(search, evaluation, _told(evaluation, answer))
        else:
            _write(evaluation, answer, document)
            _count(search, evaluation, answer)
        dispatch.advance_later(search_id)


def _check(evaluation: Evaluation, answer: records.Evaluation) -> None:
    asked = (evaluation.candidate.hash, evaluation.tier, evaluation.purpose)
    got = (answer.candidate, answer.tier.value, answer.purpose.value)
    if asked != got:
        raise RecordMismatchError(f"{evaluation}: asked for {asked}, got {got}")


def _keep_late(evaluation: Evaluation, document: dict[str, JsonValue]) -> None:
    """A result nobody waits for is evidence, not a count; a second one of a finished attempt adds nothing."""
    if evaluation.result is None:
        evaluation.result, evaluation.note = (
            document,
            f"arrived when the attempt was already {evaluation.state}",
        )
        evaluation.save(update_fields=["result", "note"])


def _write(evaluation: Evaluation, answer: records.Evaluation, document: dict[str, JsonValue]) -> None:
    """Copy the answer to the row's columns, in memory."""
    evaluation.result = document
    evaluation.status = answer.status
    evaluation.environment_key = answer.environment.key
    evaluation.device_seconds = answer.device_seconds
    evaluation.median_us, evaluation.baseline = answer.median_us, answer.baseline[:200]
    evaluation.finished_at = timezone.now()
    if answer.speedup is not None:
        evaluation.speedup, evaluation.low, evaluation.high = (
            answer.speedup.value,
            answer.speedup.low,
            answer.speedup.high,
        )


def _count(search: Search, evaluation: Evaluation, answer: records.Evaluation) -> None:
    """The one result of this candidate, environment, tier and purpose; the index would refuse a second."""
    evaluation.counted, evaluation.charged = True, answer.charged
    structure = fold.shift(search, evaluation, AttemptState.DONE)
    fold.count(search, evaluation, structure, answer.speedup)
    structure.status = fold.status_of(structure, search)
    evaluation.save()
    structure.save()
    fold.settle_waiting(search, evaluation)
    events.append(
        search, EventKind.RECORDED, _told(evaluation, answer), structure=structure, evaluation=evaluation
    )


def _told(evaluation: Evaluation, answer: records.Evaluation) -> str:
    """One line for the log."""
    head = f"{evaluation.key} {answer.status}"
    if answer.speedup is None or answer.median_us is None:
        return f"{head}: {answer.message.strip().partition(chr(10))[0]}".rstrip(": ")
    value, low, high = answer.speedup.value, answer.speedup.low, answer.speedup.high
    return f"{head} {value:.3g}x ({low:.3g} to {high:.3g}), {answer.median_us:.4g} us"


def lose(evaluation_id: int) -> bool:
    """Declare a started attempt lost when its lease has run out; False when it has not (any more)."""
    search_id = _search_of(evaluation_id)
    if search_id is None:
        return False
    with events.locked(search_id) as search:
        evaluation = _rows().get(pk=evaluation_id)
        if evaluation.state != AttemptState.LEASED or not _expired(evaluation):
            return False
        evaluation.note = "its device fell silent"
        _close(search, evaluation, AttemptState.LOST, evaluation.note)
        dispatch.advance_later(search_id)
    return True


def _expired(evaluation: Evaluation) -> bool:
    return evaluation.lease_until is not None and evaluation.lease_until < timezone.now()


def _close(search: Search, evaluation: Evaluation, state: AttemptState, why: str) -> None:
    """End an attempt that was nobody's fault: try again, or give the step up after too many."""
    structure = fold.shift(search, evaluation, state)
    search.infra_count += not evaluation.is_beside
    earlier = evaluation.step.evaluations.filter(purpose=evaluation.purpose, state__in=RETRIED)
    failures = earlier.count() + 1
    given_up = failures >= limits().attempts
    if given_up:
        evaluation.status = EvaluationStatus.INFRA_ERROR
    evaluation.finished_at = timezone.now()
    evaluation.save()
    structure.save()
    if given_up:
        fold.settle_waiting(search, evaluation)
    text = f"{evaluation.key} attempt {evaluation.attempt} {state}: {why}"
    events.append(search, EventKind.LOST, text, structure=structure, evaluation=evaluation)
    if not given_up and evaluation.is_beside:
        beside.queue(search, evaluation.step, evaluation.candidate, Purpose(evaluation.purpose))
    elif not given_up:
        queue_attempt(search, evaluation.step, evaluation.candidate)


def cancel_open(search: Search) -> int:
    """Take back every attempt of the search on its way (stop); what still arrives is kept uncounted."""
    open_rows = list(_rows().filter(search=search, state__in=OPEN_ATTEMPTS).exclude(purpose__in=BESIDE))
    for evaluation in open_rows:
        structure = fold.shift(search, evaluation, AttemptState.CANCELLED)
        evaluation.note, evaluation.finished_at = "the search was stopped", timezone.now()
        evaluation.save(update_fields=["state", "lease_until", "note", "finished_at"])
        structure.save(update_fields=["open_count", "status"])
        events.append(
            search, EventKind.LOST, f"{evaluation.key} cancelled", structure=structure, evaluation=evaluation
        )
    return len(open_rows)
