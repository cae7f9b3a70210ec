from __future__ import annotations

from datetime import timedelta

import pytest
from checks import check_invariants
from django.utils import timezone

from kernelsite.searches import beside, controls, sweeper
from kernelsite.searches.keys import read_key
from kernelsite.searches.models import Evaluation, Search
from search.records import EvaluationStatus, Purpose, SearchState, TaskName


@pytest.fixture
def candidate(launch, wire):
    """The best of a search that has ended."""
    search = launch(budget=8)
    wire.run()
    place = read_key(Search.objects.get(pk=search.pk).best_candidate)
    return search.candidates.get(structure__number=place.structure, number=place.number)


def test_a_candidate_is_promoted_after_the_end_of_its_search(candidate, wire):
    row, is_new = beside.measure(candidate, Purpose.PROMOTE)
    assert is_new
    (message,) = wire.of(TaskName.EVALUATE)
    assert (message.args[0][0]["purpose"], message.args[0][0]["tier"]) == ("promote", "full")
    wire.run()
    row.refresh_from_db()
    assert (row.state, row.status, row.counted) == ("done", EvaluationStatus.PASSED, False)
    search = check_invariants(candidate.search_id)
    assert search.state == SearchState.FINISHED
    assert not search.best_candidate.endswith("p")
    assert search.events.filter(payload__candidate__id=row.key).count() == 3  # queued, runs, recorded


def test_a_message_that_the_broker_lost_is_sent_again_after_the_end_too(candidate, wire):
    beside.measure(candidate, Purpose.REMEASURE)
    wire.waiting.clear()
    Evaluation.objects.filter(purpose="remeasure").update(sent_at=timezone.now() - timedelta(hours=1))
    assert sweeper.sweep().resent_attempts == 1
    wire.run()
    assert Evaluation.objects.get(purpose="remeasure").state == "done"


def test_a_device_that_falls_silent_loses_the_attempt_and_another_takes_it(candidate, wire):
    row, _ = beside.measure(candidate, Purpose.PROMOTE)
    Evaluation.objects.filter(pk=row.pk).update(
        state="leased", lease_until=timezone.now() - timedelta(seconds=1)
    )
    wire.waiting.clear()
    assert sweeper.sweep().lost_attempts == 1
    wire.run()
    states = Evaluation.objects.filter(purpose="promote").order_by("id").values_list("state", "current")
    assert list(states) == [("lost", False), ("done", True)]
    check_invariants(candidate.search_id)


def test_stopping_a_search_leaves_what_stands_beside_it(launch, wire):
    search = launch(budget=16)
    wire.run_until(lambda: search.evaluations.filter(status="PASSED").exists())
    passed = search.evaluations.filter(status="PASSED").first().candidate
    row, _ = beside.measure(passed, Purpose.PROMOTE)
    controls.stop(search.pk)
    row.refresh_from_db()
    assert row.state == "queued"
    wire.run()
    row.refresh_from_db()
    assert row.state == "done"
