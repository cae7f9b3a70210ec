from __future__ import annotations

import threading

from checks import check_invariants
from django.db import connection
from django.utils import timezone

from kernelsite.fleet.models import Device
from kernelsite.searches import proposals, sweeper
from kernelsite.searches.limits import limits, seconds
from kernelsite.searches.models import Evaluation, Search, Step
from search.records import SearchState, TaskName

PAST = "2000-01-01T00:00:00Z"


def to_device(launch, wire):
    search = launch()
    wire.run_until(lambda: bool(wire.of(TaskName.EVALUATE)))
    return search


def test_nothing_to_do(launch, wire):
    search = to_device(launch, wire)
    assert sweeper.sweep().total == 0
    check_invariants(search.pk)


def test_an_expired_attempt_is_lost_once_by_two_sweepers(launch, wire):
    search = to_device(launch, wire)
    attempt = search.evaluations.get()
    wire.deliver(wire.take(TaskName.EVALUATE))
    wire.deliver(wire.take(TaskName.STARTED))
    wire.waiting.clear()
    Evaluation.objects.filter(pk=attempt.pk).update(lease_until=PAST)
    found, barrier = [], threading.Barrier(3)

    def sweep():
        barrier.wait()
        found.append(sweeper.sweep().lost_attempts)
        connection.close()

    threads = [threading.Thread(target=sweep) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [0, 0, 1]
    assert search.evaluations.count() == 2
    wire.run()
    assert check_invariants(search.pk).state == SearchState.FINISHED


def test_a_queued_attempt_in_the_broker_is_left_there_however_long(launch, wire):
    search = to_device(launch, wire)
    search.evaluations.update(sent_at=PAST)
    assert sweeper.sweep().resent_attempts == 0
    assert len(wire.of(TaskName.EVALUATE)) == 1


def test_a_queued_attempt_that_the_broker_lost_is_sent_again(launch, wire):
    search = to_device(launch, wire)
    sent = wire.take(TaskName.EVALUATE)
    assert sweeper.sweep().resent_attempts == 0  # too early to look
    search.evaluations.update(sent_at=PAST)
    assert sweeper.sweep().resent_attempts == 1
    assert wire.of(TaskName.EVALUATE)[0].args == sent.args
    assert search.evaluations.count() == 1


def test_a_lost_draft_is_sent_again(launch, wire):
    search = launch()
    wire.run_until(lambda: bool(wire.of(TaskName.PROPOSE)))
    wire.take(TaskName.PROPOSE)
    search.steps.update(lease_until=PAST)
    assert sweeper.sweep().resent_drafts == 1
    assert sweeper.sweep().resent_drafts == 0
    wire.run()
    assert check_invariants(search.pk).state == SearchState.FINISHED


def claimed(launch, wire):
    search = launch()
    wire.run_until(lambda: bool(wire.of(TaskName.PROPOSE)))
    wire.take(TaskName.PROPOSE)
    step = search.steps.get()
    assert proposals._claim(step.pk) == 1
    return search, step


def test_a_silent_agent_is_asked_again_and_its_late_answer_dropped(launch, wire):
    from search.steps import Proposal

    search, step = claimed(launch, wire)
    assert sweeper.sweep().silent_agents == 0
    Step.objects.filter(pk=step.pk).update(lease_until=PAST)
    assert sweeper.sweep().silent_agents == 1
    proposals.accept(search.pk, step.pk, 1, Proposal(failure="much too late"))
    step.refresh_from_db()
    assert step.outcome is None
    wire.run()
    assert check_invariants(search.pk).state == SearchState.FINISHED


def test_an_agent_silent_too_often_is_given_up(launch, wire):
    search, step = claimed(launch, wire)
    Step.objects.filter(pk=step.pk).update(lease_until=PAST, attempt=limits().attempts)
    sweeper.sweep()
    step.refresh_from_db()
    assert "no answer" in step.outcome["failure"]
    check_invariants(search.pk)


def test_an_agent_that_breaks_is_asked_again_at_once_and_given_up_after_some_attempts(launch, wire):
    from kernelsite.searches import tasks

    _, step = claimed(launch, wire)
    for _ in range(limits().attempts):
        tasks.propose.on_failure(KeyError("a bug"), "id", (step.pk,), {}, None)
        assert sweeper.sweep().silent_agents == 1
        wire.waiting.clear()
        proposals._claim(step.pk)
    step.refresh_from_db()
    assert "no answer" in step.outcome["failure"]


def test_one_draft_taken_twice_is_answered_once(launch, wire):
    search = launch()
    wire.run_until(lambda: bool(wire.of(TaskName.PROPOSE)))
    message = wire.take(TaskName.PROPOSE)
    wire.deliver(message)
    wire.deliver(message)
    assert search.evaluations.count() == 1
    check_invariants(search.pk)


def test_a_search_without_a_driver_is_woken_once(launch, wire):
    search = launch()
    wire.waiting.clear()
    assert sweeper.sweep().woken_searches == 0  # too early to look
    Search.objects.filter(pk=search.pk).update(last_event_at=PAST)
    assert sweeper.sweep().woken_searches == 1
    assert sweeper.sweep().woken_searches == 0  # the message waits in the broker
    wire.run()
    assert check_invariants(search.pk).state == SearchState.FINISHED


def test_a_search_whose_driver_died_is_woken_when_the_lease_ends(launch, wire):
    search = launch()
    wire.waiting.clear()
    Search.objects.filter(pk=search.pk).update(last_event_at=PAST)
    Search.objects.lease(search.pk, "dead", timezone.now() + seconds(30))
    assert sweeper.sweep().woken_searches == 0
    Search.objects.filter(pk=search.pk).update(lease_until=PAST)
    assert sweeper.sweep().woken_searches == 1


def test_final_searches_are_left_alone(launch, wire):
    search = launch()
    wire.run()
    Search.objects.filter(pk=search.pk).update(last_event_at=PAST)
    assert sweeper.sweep().total == 0


def test_a_device_that_comes_wakes_the_searches_that_wait_for_it_at_the_next_sweep(launch, wire, device):
    Device.objects.update(last_seen_at=PAST)
    search = launch()
    wire.run()
    Device.objects.update(last_seen_at=timezone.now() + seconds(3600))
    assert sweeper.sweep().woken_searches == 1
    wire.run()
    assert check_invariants(search.pk).state == SearchState.FINISHED
