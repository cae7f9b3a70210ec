"""Pause, resume, stop: a person's word to a search. Each takes effect in its own transaction, driver or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelsite.searches import attempts, dispatch, events, fold, holds, tidings
from kernelsite.searches.models import Search, Step, StepState, TransitionError
from search.records import EventKind, SearchState
from search.steps import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable


def pause(search_id: int) -> None:
    """Ask for nothing new; what runs may finish.

    Raises:
        TransitionError: the search is over.
    """
    with events.locked(search_id) as search:
        if search.state in (SearchState.PAUSING, SearchState.PAUSED):
            return
        if search.is_final:
            raise TransitionError(f"{search.short} is {search.state} and cannot be paused")
        running = search.steps.exclude(state=StepState.DONE).exists()
        search.move(SearchState.PAUSING if running else SearchState.PAUSED)
        _tell(search)
        dispatch.advance_later(search_id)


def resume(search_id: int) -> None:
    """Go on after a pause.

    Raises:
        TransitionError: the search is over.
    """
    with events.locked(search_id) as search:
        if search.is_final:
            raise TransitionError(f"{search.short} is {search.state} and cannot be resumed")
        if search.state in (SearchState.PAUSING, SearchState.PAUSED):
            search.move(SearchState.RUNNING)
            _tell(search)
            holds.release(search)
        dispatch.advance_later(search_id)


def stop(search_id: int) -> None:
    """End the search now: what is queued is taken back, what runs is thrown away. Stopping twice is no error.

    Raises:
        TransitionError: the search ended otherwise.
    """
    with events.locked(search_id) as search:
        if search.state == SearchState.STOPPED:
            return
        if search.is_final:
            raise TransitionError(f"{search.short} is {search.state} and cannot be stopped")
        attempts.cancel_open(search)
        _drop_steps(search, "the search was stopped")
        search.move(SearchState.STOPPED, reason="stopped by a person")
        _tell(search)


def _tell(search: Search) -> None:
    events.append(search, EventKind.STATE, search.state)


def fail(search_id: int, reason: str) -> None:
    """End a search that cannot go on; one that has ended already is left alone."""
    with events.locked(search_id) as search:
        if search.is_final:
            return
        attempts.cancel_open(search)
        _drop_steps(search, reason)
        search.move(SearchState.FAILED, reason=reason)
        events.append(search, EventKind.RESULT, f"{search.state}: {search.reason}")
        tidings.ended(search)


def _drop_steps(search: Search, why: str) -> None:
    for step in Step.objects.filter(search=search).exclude(state=StepState.DONE):
        fold.settle(search, step, Outcome(failure=why))


ACTIONS: dict[str, Callable[[int], None]] = {"pause": pause, "resume": resume, "stop": stop}
