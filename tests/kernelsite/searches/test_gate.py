from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from checks import check_invariants
from django.db import connection
from django.utils import timezone

from kernelsite.notices.models import Notice
from kernelsite.searches import controls, gate, sweeper
from kernelsite.searches.gate import GateError
from kernelsite.searches.launch import LaunchError, Options, Order, launch_search, new_key
from kernelsite.searches.models import Search
from kernelsite.searches.rows import wall_seconds
from search.records import SearchState, Stage, WaitReason
from search.review import Ruling, Verdict
from search.settings import Budget, StageSettings

GATED = StageSettings(review=True)


@pytest.fixture
def gated(launch, wire):
    """A search that waits at its gate."""
    search = launch(budget=14, stages=GATED)
    wire.run()
    search.refresh_from_db()
    return search


def ruling(structure, verdict=Verdict.RETAINED, **more):
    return Ruling(structure=structure.fingerprint, verdict=verdict, reason="seen", **more)


def working(search):
    return list(search.structures.filter(passed_count__gt=0).order_by("number"))


def test_a_gated_search_waits_after_stage_1_and_holds_nothing(gated):
    check_invariants(gated.pk)
    assert (gated.state, gated.wait_reason, gated.stage) == (
        SearchState.WAITING,
        WaitReason.REVIEW,
        Stage.EXPLORE,
    )
    assert gated.lease_owner == ""
    assert not gated.structures.filter(retained=True).exists()
    assert not gated.structures.filter(status__in=("dropped", "retained")).exists()
    assert gated.events.filter(payload__text="waiting for review").count() == 1
    assert Notice.objects.filter(event="review.gate").count() == 1


def test_what_is_retained_is_tuned_and_the_rest_is_dropped(gated, wire, alice):
    first, second, *_ = working(gated)
    gate.decide(gated.pk, [ruling(second), ruling(first, Verdict.DROPPED)], alice, "k")
    wire.run()
    search = check_invariants(gated.pk)
    assert search.state == SearchState.FINISHED
    assert [row.pk for row in search.structures.filter(retained=True)] == [second.pk]
    tuned = search.steps.filter(stage=Stage.TUNE).values_list("structure", flat=True)
    assert set(tuned) == {second.pk}
    assert search.structures.get(pk=first.pk).status == "dropped"
    assert search.events.filter(kind="search.reviewed").count() == 1


def test_more_probes_bring_the_gate_again(gated, wire, alice):
    first = working(gated)[0]
    before = first.evaluation_count
    gate.decide(gated.pk, [ruling(first, Verdict.PROBED, probes=2)], alice, "k")
    wire.run()
    search = check_invariants(gated.pk)
    assert search.is_at_gate
    assert search.structures.get(pk=first.pk).evaluation_count == before + 2


def test_a_structure_added_by_hand_is_written_by_the_agent_and_can_be_retained(gated, wire, alice):
    row, action = gate.extensions(gated)[0]
    made = gate.added(gated, f"{row.number}:{action.id}", "tried by hand elsewhere")
    gate.decide(gated.pk, [made], alice, "k")
    planted = gated.structures.get(fingerprint=made.structure)
    assert set(planted.parent.actions) < set(planted.actions)
    wire.run()
    search = check_invariants(gated.pk)
    planted.refresh_from_db()
    assert search.is_at_gate
    assert planted.passed_count
    gate.decide(search.pk, [ruling(planted)], alice, "k2")
    wire.run()
    search = check_invariants(search.pk)
    assert [row.pk for row in search.structures.filter(retained=True)] == [planted.pk]
    assert set(search.steps.filter(stage=Stage.TUNE).values_list("structure", flat=True)) == {planted.pk}


@pytest.mark.parametrize("choice", ["", "x:y", "999:tile", "1:no_such_action"])
def test_what_cannot_be_added_is_said(gated, choice):
    with pytest.raises(GateError):
        gate.added(gated, choice, "because")


def test_a_decision_that_does_not_fit_changes_nothing(gated, alice):
    first = working(gated)[0]
    with pytest.raises(GateError, match="retains a structure"):
        gate.decide(gated.pk, [ruling(first, Verdict.DROPPED)], alice, "k")
    other = ruling(first).model_copy(update={"structure": "f" * 16})
    with pytest.raises(GateError, match="not one of this search"):
        gate.decide(gated.pk, [other], alice, "k")
    gated.refresh_from_db()
    assert gated.is_at_gate
    assert not gated.decisions.exists()


def test_nothing_is_decided_before_the_gate_or_after_it(launch, wire, alice):
    search = launch(budget=14, stages=GATED)
    with pytest.raises(GateError, match="waits for no decision"):
        gate.decide(search.pk, [], alice, "k")
    wire.run()
    gate.decide(search.pk, [ruling(working(search)[0])], alice, "k")
    with pytest.raises(GateError, match="waits for no decision"):
        gate.decide(search.pk, [ruling(working(search)[0])], alice, "k2")


def test_waiting_at_the_gate_is_not_charged(launch, wire, alice):
    limited = Budget(evaluations=14, wall_seconds=600.0)
    search = launch(budget=14, stages=GATED)
    Search.objects.filter(pk=search.pk).update(settings=search.settings | {"budget": limited.dump()})
    wire.run()
    search.refresh_from_db()
    a_day = timedelta(days=1)
    Search.objects.filter(pk=search.pk).update(
        gate_since=search.gate_since - a_day, started_at=search.started_at - a_day
    )
    search.refresh_from_db()
    assert wall_seconds(search) < 60
    gate.decide(search.pk, [ruling(working(search)[0])], alice, "k")
    wire.run()
    search = check_invariants(search.pk)
    assert search.best_confirmed
    assert "wall time" not in search.reason
    assert search.gate_wait_s > a_day.total_seconds()
    assert wall_seconds(search) < 60


def test_a_decision_whose_message_is_lost_is_found_by_the_sweeper(gated, wire, alice):
    """As after kill -9 of the web process between the commit and the broker."""
    Search.objects.filter(pk=gated.pk).update(last_event_at=timezone.now() - timedelta(hours=1))
    assert sweeper.sweep().woken_searches == 0  # at the gate nobody is needed
    gate.decide(gated.pk, [ruling(working(gated)[0])], alice, "k")
    wire.waiting.clear()
    Search.objects.filter(pk=gated.pk).update(last_event_at=timezone.now() - timedelta(hours=1))
    assert sweeper.sweep().woken_searches == 1
    wire.run()
    assert check_invariants(gated.pk).state == SearchState.FINISHED


def test_a_gated_search_can_be_paused_resumed_and_stopped(gated, wire):
    controls.pause(gated.pk)
    controls.resume(gated.pk)
    wire.run()
    gated.refresh_from_db()
    assert gated.is_at_gate
    controls.stop(gated.pk)
    gated.refresh_from_db()
    assert (gated.state, gated.gate_since) == (SearchState.STOPPED, None)


def at_once(count, deed):
    """What each of the threads got: a value or an exception."""
    barrier, found = threading.Barrier(count), []

    def run():
        barrier.wait()
        try:
            found.append(deed())
        except GateError as error:
            found.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_twenty_decisions_with_one_key_have_one_effect(gated, wire, alice):
    first = working(gated)[0]
    found = at_once(20, lambda: gate.decide(gated.pk, [ruling(first)], alice, "k"))
    assert [is_new for _, is_new in found].count(True) == 1
    assert len({row.pk for row, _ in found}) == 1
    assert gated.decisions.count() == 1


def test_only_strategies_with_two_stages_have_a_gate(order):
    with pytest.raises(LaunchError, match="no review gate"):
        launch_search(order(strategy="mixed", stages=GATED))


def test_an_order_says_its_gate(order, team, alice):
    base = order()
    options = Options(budget=Budget(evaluations=8), stages=GATED)
    built = Order(team, alice, base.workload, base.library, options, key=new_key())
    assert built.settings.stages.review
