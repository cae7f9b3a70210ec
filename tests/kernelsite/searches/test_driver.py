from __future__ import annotations

import random

import pytest
from celery.exceptions import SoftTimeLimitExceeded, WorkerLostError
from checks import check_invariants
from django.db import OperationalError
from django.utils import timezone

from kernelsite.searches import driver, events, tasks
from kernelsite.searches.limits import seconds
from kernelsite.searches.models import Search, StepState
from search.records import EvaluationStatus, Purpose, SearchState, TaskName
from search.strategies import STRATEGIES


@pytest.mark.parametrize("strategy", ["two_stage", "mixed", "structure_only", "local_only"])
def test_a_search_finishes(launch, wire, strategy):
    search = launch(strategy=strategy, budget=16)
    wire.run()
    search = check_invariants(search.pk)
    assert search.state == SearchState.FINISHED
    assert search.reason
    assert search.best_confirmed
    assert search.best_speedup
    assert search.evaluations_spent > 8
    confirmed = search.evaluations.filter(purpose=Purpose.CONFIRM, counted=True)
    assert confirmed.exists()
    assert all(row.tier == "full" for row in confirmed)


def test_two_stage_retains_and_tunes(launch, wire):
    search = launch(budget=24)
    wire.run()
    kept = search.structures.filter(retained=True)
    assert kept.count() >= 2
    assert {row.status for row in kept} == {"tuned"}
    assert not search.structures.filter(retained=False, status__in=("open", "probing", "proposed")).exists()


def test_the_best_is_the_engines(launch, wire):
    search = launch(budget=16)
    wire.run()
    search.refresh_from_db()
    plan = driver.look(search.pk)
    assert plan.result.speedup is not None
    assert search.best_speedup == plan.result.speedup.value
    assert plan.result.spent.evaluations == search.evaluations_spent


@pytest.mark.parametrize("parallel", [1, 3])
def test_room_is_parallel(launch, wire, parallel):
    search = launch(budget=16, parallel=parallel)
    most = 0
    while wire.waiting:
        wire.deliver(wire.waiting.pop(0))
        most = max(most, search.steps.exclude(state=StepState.DONE).count())
    assert most == parallel
    check_invariants(search.pk)


def outcomes(search):
    return [(step.item, step.outcome) for step in search.steps.order_by("number")]


def test_same_seed_same_search_whatever_is_lost_doubled_or_late(launch, wire):
    """Messages are dropped, doubled and reordered; every search does the same steps with the same outcomes."""
    calm = launch(budget=16, seed=3)
    wire.run()
    stormy = launch(budget=16, seed=3)
    dice = random.Random(7)
    for _ in range(5000):
        stormy.refresh_from_db()
        if stormy.is_final:
            break
        storm(wire, dice, stormy)
    assert check_invariants(stormy.pk).state == SearchState.FINISHED
    assert outcomes(calm) == outcomes(stormy)


def storm(wire, dice, search):
    """One moment of bad luck; with nothing left to deliver, time passes and a sweeper comes by."""
    if not wire.waiting:
        pass_time(search)
        wire.send_task(TaskName.SWEEP)
    message = wire.waiting.pop(dice.randrange(len(wire.waiting)))
    luck = dice.random()
    if luck < 0.15 and message.name != TaskName.SWEEP:
        return
    wire.deliver(message)
    if luck > 0.85:
        wire.deliver(message)


def pass_time(search):
    past = timezone.now() - seconds(3600)
    search.evaluations.filter(lease_until__isnull=False).update(lease_until=past)
    search.evaluations.update(sent_at=past)
    search.steps.filter(lease_until__isnull=False).update(lease_until=past)
    Search.objects.filter(pk=search.pk).update(last_event_at=past)


def test_a_second_driver_finds_the_lease_taken(launch):
    search = launch()
    until = timezone.now() + seconds(30)
    assert Search.objects.lease(search.pk, "one", until) == 1
    assert Search.objects.lease(search.pk, "two", until) is None


def test_an_expired_lease_is_taken_over_and_the_old_driver_cannot_write(launch):
    search = launch()
    old = Search.objects.lease(search.pk, "one", timezone.now() - seconds(1))
    plan = driver.look(search.pk)
    new = Search.objects.lease(search.pk, "two", timezone.now() + seconds(30))
    assert new == old + 1
    with pytest.raises(events.LeaseLostError):
        driver.act(search.pk, old, plan)
    assert not search.steps.exists()
    driver.act(search.pk, new, plan)
    assert search.steps.count() == 1


def test_release_fails_when_something_happened(launch):
    """The wake-up of a result that lands while a driver works is not lost."""
    search = launch()
    fence = Search.objects.lease(search.pk, "one", timezone.now() + seconds(30))
    seen = driver.act(search.pk, fence, driver.look(search.pk))
    with events.locked(search.pk) as row:
        events.append(row, "search.state", "somebody else was here")
    assert not driver.release(search.pk, fence, seen)
    assert driver.release(search.pk, fence, seen + 1)


def test_no_device_is_waited_for(launch, wire, device):
    device.last_seen_at = timezone.now() - seconds(3600)
    device.save()
    search = launch()
    wire.run()
    search.refresh_from_db()
    assert (search.state, search.wait_reason) == (SearchState.WAITING, "device")
    assert not search.steps.exists()
    device.last_seen_at = timezone.now()
    device.save()
    pass_time(search)
    wire.send_task(TaskName.SWEEP)
    wire.run()
    assert check_invariants(search.pk).state == SearchState.FINISHED


def test_wall_time_ends_a_search(launch, wire):
    search = launch()
    wire.run_until(lambda: search.evaluations.filter(counted=True).count() == 3)
    settings = dict(search.settings)
    settings["budget"]["wall_seconds"] = 1.0
    Search.objects.filter(pk=search.pk).update(settings=settings, started_at=timezone.now() - seconds(5))
    wire.run()
    search = check_invariants(search.pk)
    assert search.state == SearchState.FINISHED
    assert "wall time" in search.reason


def test_failed_candidates_are_outcomes(launch, wire):
    search = launch(budget=16)
    wire.run_until(lambda: search.evaluations.exists())
    first = search.evaluations.get()
    wire.verdicts[str(first.pk)] = EvaluationStatus.INCORRECT_NUMERICAL
    wire.run()
    assert search.steps.get(number=1).outcome["status"] == "INCORRECT_NUMERICAL"
    check_invariants(search.pk)


def test_an_agent_that_gives_up_costs_nothing(launch, wire, monkeypatch):
    from search.agents.registry import AGENTS
    from search.steps import Proposal

    class Refuses:
        name = "playbook"

        def propose(self, draft, scene):
            return Proposal(failure="nothing comes to mind")

    monkeypatch.setitem(AGENTS, "playbook", Refuses)
    search = launch()
    wire.run()
    search = check_invariants(search.pk)
    assert search.is_final
    assert search.evaluations_spent == 0
    told = search.events.filter(kind="step.failed").values_list("payload__text", flat=True)
    assert told
    assert all("nothing comes to mind" in text for text in told)


def test_a_driver_that_breaks_fails_its_search_with_the_reason(launch, wire):
    search = launch()
    tasks.advance.on_failure(KeyError("no such thing"), "id", (search.pk,), {}, None)
    search = check_invariants(search.pk)
    assert search.state == SearchState.FAILED
    assert "KeyError" in search.reason


@pytest.mark.parametrize(
    "trouble", [OperationalError("database is locked"), WorkerLostError("signal 9"), SoftTimeLimitExceeded()]
)
def test_passing_trouble_does_not_fail_a_search(launch, wire, trouble):
    search = launch()
    tasks.advance.on_failure(trouble, "id", (search.pk,), {}, None)
    search.refresh_from_db()
    assert search.state == SearchState.QUEUED


def test_every_strategy_is_known():
    assert {"two_stage", "mixed", "structure_only", "local_only"} <= set(STRATEGIES)
