from __future__ import annotations

import pytest
from checks import check_invariants
from synthetic_device import answer

from kernelsite.searches import attempts, controls, dispatch
from kernelsite.searches.models import Evaluation, StepState, TransitionError
from search.records import SearchState, TaskName


@pytest.fixture
def running(launch, wire):
    """A search with one attempt on a device and two results."""
    search = launch(budget=16)
    wire.run_until(lambda: search.evaluations.filter(counted=True).count() == 2)
    wire.run_until(
        lambda: bool(wire.of(TaskName.RECORD)) and search.evaluations.filter(state="leased").exists()
    )
    return search


def state(search):
    search.refresh_from_db()
    return search.state


def test_pause_lets_the_running_one_finish_and_starts_nothing(running, wire):
    controls.pause(running.pk)
    assert state(running) == SearchState.PAUSING
    steps = running.steps.count()
    wire.run()
    assert state(running) == SearchState.PAUSED
    assert running.steps.count() == steps
    assert not running.steps.exclude(state=StepState.DONE).exists()
    check_invariants(running.pk)


def test_resume_goes_on_to_the_end(running, wire):
    controls.pause(running.pk)
    wire.run()
    controls.resume(running.pk)
    wire.run()
    assert state(running) == SearchState.FINISHED
    check_invariants(running.pk)


def test_resume_while_pausing(running, wire):
    controls.pause(running.pk)
    controls.resume(running.pk)
    wire.run()
    assert state(running) == SearchState.FINISHED


def test_pause_twice_and_resume_twice_are_no_errors(running, wire):
    controls.pause(running.pk)
    controls.pause(running.pk)
    controls.resume(running.pk)
    controls.resume(running.pk)
    assert state(running) == SearchState.RUNNING


def test_stop_cancels_the_queued_and_discards_the_running(running, wire):
    attempt = running.evaluations.get(state="leased")
    spent = running.evaluations.filter(charged=True).count()
    controls.stop(running.pk)
    assert state(running) == SearchState.STOPPED
    wire.run()
    attempt.refresh_from_db()
    assert (attempt.state, attempt.counted) == ("cancelled", False)
    assert attempt.result is not None
    search = check_invariants(running.pk)
    assert search.evaluations_spent == spent
    assert (search.queued_count, search.running_count) == (0, 0)


def test_stop_of_a_queued_attempt(launch, wire):
    search = launch()
    wire.run_until(lambda: bool(wire.of(TaskName.EVALUATE)))
    controls.stop(search.pk)
    attempt = search.evaluations.get()
    document = answer(dispatch.request_of(Evaluation.objects.get(pk=attempt.pk))).dump()
    attempts.record(attempt.pk, attempt.token, document)
    assert check_invariants(search.pk).evaluations_spent == 0


def test_stop_while_an_agent_thinks(launch, wire):
    search = launch()
    wire.run_until(lambda: bool(wire.of(TaskName.PROPOSE)))
    controls.stop(search.pk)
    wire.run()
    assert not search.evaluations.exists()
    assert check_invariants(search.pk).state == SearchState.STOPPED


def test_a_finished_search_can_no_more_be_changed(launch, wire):
    search = launch()
    wire.run()
    for action in controls.ACTIONS.values():
        with pytest.raises(TransitionError, match="finished"):
            action(search.pk)


def test_stop_twice_is_no_error(running):
    controls.stop(running.pk)
    controls.stop(running.pk)
    assert running.events.filter(payload__text="stopped").count() == 1
