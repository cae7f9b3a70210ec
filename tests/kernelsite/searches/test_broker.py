"""With a real server: what the sweeper sees in its queues, what a flush costs, and bells between processes."""

from __future__ import annotations

import subprocess
import time

import pytest
import redis
from asgiref.sync import sync_to_async
from celery import Celery
from checks import check_counts
from test_consumer import deltas, socket, tell

from kernelsite import embedded
from kernelsite.fleet.models import Device
from kernelsite.searches import attempts, dispatch, driver, proposals, sweeper
from kernelsite.searches.launch import launch_search
from kernelsite.searches.models import Evaluation, Search
from search.records import Queue, device_queue

PAST = "2000-01-01T00:00:00Z"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("valkey")
    path = folder / "redis.sock"
    with subprocess.Popen(embedded.command(path, folder)) as process:
        embedded.wait_until_ready(path, lambda: process.poll() is None)
        yield path
        process.kill()


@pytest.fixture
def broker(server, monkeypatch):
    app = Celery("rig", broker=f"redis+socket://{server}", set_as_current=False)
    app.conf.task_ignore_result = True
    monkeypatch.setattr(dispatch, "app", app)
    monkeypatch.setattr(sweeper, "app", app)
    client = redis.Redis(unix_socket_path=str(server))
    client.flushall()
    yield client
    client.close()
    app.close()


@pytest.fixture
def search(broker, order, device):
    return launch_search(order())[0]


def test_the_broker_is_asked_by_message_id(search):
    assert sweeper.queued_messages(Queue.CONTROL) == {f"advance-{search.pk}"}
    driver.advance(search.pk)
    step = search.steps.get()
    assert sweeper.queued_messages(Queue.AGENT) == {f"propose-{step.pk}"}
    proposals.propose(step.pk)
    attempt = search.evaluations.get()
    assert sweeper.queued_messages(device_queue("cpu")) == {f"evaluation-{attempt.pk}"}
    assert sweeper.queued_messages("gpu.nothing") == frozenset()


def test_a_flush_costs_seconds_not_data(search, broker):
    driver.advance(search.pk)
    proposals.propose(search.steps.get().pk)
    broker.flushall()
    Evaluation.objects.update(sent_at=PAST)
    Search.objects.update(last_event_at=PAST)
    found = sweeper.sweep()
    assert (found.resent_attempts, found.woken_searches) == (1, 1)
    attempt = search.evaluations.get()
    assert sweeper.queued_messages(device_queue("cpu")) == {f"evaluation-{attempt.pk}"}
    assert sweeper.sweep().total == 0
    check_counts(Search.objects.get(pk=search.pk))


def test_a_commit_survives_a_broker_that_is_away(order, device, monkeypatch, tmp_path, caplog):
    """The message is lost and logged; the row stays, and the sweeper will find it."""
    app = Celery("away", broker=f"redis+socket://{tmp_path}/nobody.sock", set_as_current=False)
    app.conf.update(broker_transport_options={"max_retries": 0}, task_publish_retry=False)
    monkeypatch.setattr(dispatch, "app", app)
    search, created = launch_search(order())
    assert created
    assert Search.objects.get(pk=search.pk).state == "queued"
    assert "on_commit" in caplog.text


def test_attempts_start_once_in_the_wrong_order(search):
    driver.advance(search.pk)
    proposals.propose(search.steps.get().pk)
    attempt = search.evaluations.get()
    attempts.start(attempt.pk, attempt.token)
    attempts.start(attempt.pk, attempt.token)
    assert search.events.filter(kind="evaluation.started").count() == 1


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_bell_travels_through_the_server(server, broker, order, device, alice, settings):
    layer = {"BACKEND": "channels_redis.core.RedisChannelLayer", "CONFIG": {"hosts": [f"unix://{server}"]}}
    settings.CHANNEL_LAYERS = {"default": layer}
    search, _ = await sync_to_async(launch_search)(await sync_to_async(order)())
    communicator = socket(search, alice, "after=1")
    await communicator.connect()
    await communicator.receive_json_from()
    began = time.monotonic()
    await tell(search)
    assert (await deltas(communicator, 2))[-1]["s"] == 2
    assert time.monotonic() - began < 2.0
    await communicator.disconnect()
    assert await Device.objects.acount() == 1
