from __future__ import annotations

import pytest
from checks import check_invariants
from synthetic_device import answer

from kernelsite.searches import attempts, dispatch
from kernelsite.searches.limits import limits
from kernelsite.searches.models import AttemptState, Evaluation, StepState
from search.records import EvaluationRequest, EvaluationStatus, SearchState, TaskName


@pytest.fixture
def attempt(launch, wire):
    """The first attempt of a search, sent to the device."""
    search = launch()
    wire.run_until(lambda: bool(wire.of(TaskName.EVALUATE)))
    return search.evaluations.get()


def request_of(attempt):
    return dispatch.request_of(Evaluation.objects.get(pk=attempt.pk))


def deliver(attempt, status=EvaluationStatus.PASSED, token=None):
    document = answer(request_of(attempt), status).dump()
    attempts.record(attempt.pk, token or attempt.token, document)
    attempt.refresh_from_db()


def test_it_works(attempt, wire):
    attempts.start(attempt.pk, attempt.token)
    attempt.refresh_from_db()
    assert attempt.state == AttemptState.LEASED
    assert attempt.lease_until > attempt.started_at
    deliver(attempt)
    assert (attempt.state, attempt.counted, attempt.charged, attempt.order) == ("done", True, True, 1)
    step = attempt.search.steps.get(number=attempt.step.number)
    assert step.state == StepState.DONE
    assert step.outcome["charged"]
    check_invariants(attempt.search_id)


def test_the_request_carries_the_contract(attempt, wire):
    request = EvaluationRequest.load(wire.of(TaskName.EVALUATE)[0].args[0][0])
    assert request == request_of(attempt)
    assert request.contract.structure == attempt.candidate.structure.fingerprint
    assert request.candidate.hash == attempt.candidate.hash


def test_a_mixed_search_holds_no_candidate_to_a_contract(launch, wire):
    search = launch(strategy="mixed")
    wire.run_until(lambda: bool(wire.of(TaskName.EVALUATE)))
    assert request_of(search.evaluations.get()).contract is None


def test_a_record_without_started_counts(attempt):
    deliver(attempt)
    assert attempt.counted
    check_invariants(attempt.search_id)


def test_a_second_record_changes_nothing(attempt):
    deliver(attempt)
    before = Evaluation.objects.values().get(pk=attempt.pk)
    deliver(attempt, EvaluationStatus.CRASH)
    assert Evaluation.objects.values().get(pk=attempt.pk) == before
    check_invariants(attempt.search_id)


def test_a_foreign_token_is_dropped(attempt):
    deliver(attempt, token="0" * 32)
    assert attempt.state == AttemptState.QUEUED
    assert attempt.result is None


def test_started_with_a_foreign_token_is_dropped(attempt):
    attempts.start(attempt.pk, "0" * 32)
    attempt.refresh_from_db()
    assert attempt.state == AttemptState.QUEUED


def test_a_result_of_another_candidate_is_refused(attempt):
    document = answer(request_of(attempt)).model_copy(update={"candidate": "0" * 64}).dump()
    with pytest.raises(attempts.RecordMismatchError):
        attempts.record(attempt.pk, attempt.token, document)
    attempt.refresh_from_db()
    assert attempt.is_open


def expire(attempt):
    attempts.start(attempt.pk, attempt.token)
    Evaluation.objects.filter(pk=attempt.pk).update(lease_until="2000-01-01T00:00:00Z")


def test_a_lost_attempt_is_made_again_and_its_late_result_is_kept_uncounted(attempt, wire):
    expire(attempt)
    assert attempts.lose(attempt.pk)
    again = Evaluation.objects.get(step=attempt.step, attempt=2)
    assert (again.state, again.current) == ("queued", True)
    deliver(attempt)
    assert (attempt.state, attempt.counted, attempt.current) == ("lost", False, False)
    assert attempt.result is not None
    assert "lost" in attempt.note
    deliver(again)
    assert again.counted
    search = check_invariants(attempt.search_id)
    assert search.evaluations_spent == 1


def test_a_live_attempt_is_not_lost(attempt):
    attempts.start(attempt.pk, attempt.token)
    assert not attempts.lose(attempt.pk)


def test_alive_renews_the_lease(attempt):
    expire(attempt)
    attempts.start(attempt.pk, attempt.token)
    assert not attempts.lose(attempt.pk)


def test_alive_of_a_lost_attempt_does_not_revive_it(attempt):
    expire(attempt)
    attempts.lose(attempt.pk)
    attempts.start(attempt.pk, attempt.token)
    attempt.refresh_from_db()
    assert attempt.state == AttemptState.LOST


def test_infrastructure_failures_are_free_and_given_up_in_the_end(attempt, wire):
    for number in range(1, limits().attempts + 1):
        row = Evaluation.objects.get(step=attempt.step, attempt=number)
        deliver(row, EvaluationStatus.INFRA_ERROR)
        assert (row.state, row.counted) == ("infra", False)
    step = attempt.step
    step.refresh_from_db()
    assert step.outcome["status"] == "INFRA_ERROR"
    assert not step.outcome["charged"]
    assert not Evaluation.objects.filter(step=step, attempt=limits().attempts + 1).exists()
    search = check_invariants(attempt.search_id)
    assert search.evaluations_spent == 0
    wire.run()
    assert check_invariants(attempt.search_id).state == SearchState.FINISHED


def test_a_duplicate_inside_a_search_reuses_its_measurement(launch, wire):
    """Two steps bring the same program: one is measured and charged, the other is marked."""
    search = launch(budget=16)
    wire.run_until(lambda: search.evaluations.filter(counted=True).count() == 2)
    first = search.evaluations.filter(counted=True).order_by("order").first()
    from kernelsite.searches import events
    from kernelsite.searches.models import Step

    with events.locked(search.pk) as row:
        item = dict(first.step.item, number=row.step_count + 1)
        row.step_count += 1
        twin = Step.objects.create(
            search=row,
            number=row.step_count,
            item=item,
            kind=first.step.kind,
            stage="explore",
            state="proposing",
        )
        attempts.evaluate(row, twin, first.candidate)
    twin.refresh_from_db()
    assert twin.state == StepState.DONE
    assert twin.outcome["reused"]
    assert not twin.outcome["charged"]
    assert twin.outcome["speedup"] == first.step.outcome["speedup"] if first.step.outcome else True
    assert twin.evaluations.get().state == AttemptState.REUSED
    assert check_invariants(search.pk).reused_count >= 1


def test_a_duplicate_of_a_running_attempt_waits_for_it(attempt):
    from kernelsite.searches import events
    from kernelsite.searches.models import Step

    with events.locked(attempt.search_id) as row:
        row.step_count += 1
        item = dict(attempt.step.item, number=row.step_count)
        twin = Step.objects.create(
            search=row, number=row.step_count, item=item, kind="explore", stage="explore", state="proposing"
        )
        attempts.evaluate(row, twin, attempt.candidate)
    twin.refresh_from_db()
    assert twin.state == StepState.EVALUATING
    deliver(attempt)
    twin.refresh_from_db()
    assert twin.outcome["reused"]
    check_invariants(attempt.search_id)


def test_the_index_refuses_a_second_counted_result(attempt):
    from django.db import IntegrityError, transaction

    deliver(attempt)
    row = Evaluation.objects.get(pk=attempt.pk)
    row.pk, row.attempt, row.current, row.order, row.token = None, 9, False, None, "x"
    with pytest.raises(IntegrityError), transaction.atomic():
        row.save(force_insert=True)
