from __future__ import annotations

import itertools

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from kernelsite.searches.models import Search, TransitionError
from kernelsite.searches.models.search import TRANSITIONS
from search.records import SearchState, WaitReason


@pytest.mark.parametrize(("old", "new"), list(itertools.product(SearchState, SearchState)))
def test_only_known_edges(old, new):
    search = Search(pk=1, state=old)
    wait = WaitReason.DEVICE if new is SearchState.WAITING else None
    if old is new or new in TRANSITIONS[old]:
        search.move(new, wait=wait)
        assert search.state == new
    else:
        with pytest.raises(TransitionError, match="S-1"):
            search.move(new, wait=wait)


def test_final_states_end_and_release():
    for state in SearchState:
        if state.is_final:
            assert not TRANSITIONS[state]
    search = Search(pk=1, state="running", lease_owner="x", lease_until=timezone.now())
    search.move(SearchState.FINISHED, reason="budget spent")
    assert search.finished_at
    assert search.lease_until is None
    assert search.reason == "budget spent"


def test_running_starts_the_clock_once():
    search = Search(pk=1, state="queued")
    search.move(SearchState.RUNNING)
    first = search.started_at
    search.move(SearchState.WAITING, wait=WaitReason.DEVICE)
    search.move(SearchState.RUNNING)
    assert search.started_at == first
    assert search.wait_reason == ""


@pytest.mark.parametrize(
    "values",
    [
        {"state": "sleeping"},
        {"state": "waiting", "wait_reason": ""},
        {"state": "running", "wait_reason": "device"},
        {"state": "finished"},
        {"state": "running", "finished_at": timezone.now()},
        {"evaluations_spent": 17},
    ],
)
def test_the_database_refuses(launch, values):
    search = launch(budget=16)
    with pytest.raises(IntegrityError), transaction.atomic():
        Search.objects.filter(pk=search.pk).update(**values)
