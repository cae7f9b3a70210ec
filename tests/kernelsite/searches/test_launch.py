from __future__ import annotations

import threading

import pytest
from django.db import connection

from kernelsite.searches.launch import LaunchError, launch_search
from kernelsite.searches.models import Search
from search.records import TaskName


def test_it_works(order, wire):
    search, created = launch_search(order(key="k1", budget=20))
    assert created
    assert search.state == "queued"
    assert search.short == f"S-{search.pk}"
    assert [event.kind for event in search.events.all()] == ["search.created"]
    assert [message.args for message in wire.of(TaskName.ADVANCE)] == [[search.pk]]
    assert search.record.workload_hash == search.workload.hash


def test_two_clicks_launch_once(order, wire):
    asked = order(key="k1")
    first, created = launch_search(asked)
    second, again = launch_search(asked)
    assert (created, again) == (True, False)
    assert first.pk == second.pk
    assert Search.objects.count() == 1


def test_two_clicks_at_the_same_moment_launch_once(order, wire):
    asked, ids, barrier = order(key="k1"), [], threading.Barrier(4)

    def click():
        barrier.wait()
        ids.append(launch_search(asked)[0].pk)
        connection.close()

    threads = [threading.Thread(target=click) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ids) == 4
    assert len(set(ids)) == 1
    assert Search.objects.get().events.count() == 1


def test_the_same_key_for_something_else_is_refused(order, wire):
    launch_search(order(key="k1", budget=20))
    with pytest.raises(LaunchError) as caught:
        launch_search(order(key="k1", budget=21))
    assert caught.value.field == "idempotency_key"


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("strategy", {"strategy": "wishful"}),
        ("agent", {"agent": "nobody"}),
        ("allowed_actions", {"allowed_actions": ("no_such_action",)}),
    ],
)
def test_unknown_words_name_their_field(order, wire, field, options):
    with pytest.raises(LaunchError) as caught:
        launch_search(order(**options))
    assert caught.value.field == field
    assert not Search.objects.exists()
