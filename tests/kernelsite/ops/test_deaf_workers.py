from __future__ import annotations

import json
import subprocess

import pytest
import redis

from kernelsite import embedded
from kernelsite.ops.deaf import PATIENCE_S, Listener
from search.records import Queue


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("deaf")
    process = subprocess.Popen(embedded.command(folder / "s", folder / "data"))
    embedded.wait_until_ready(folder / "s", alive=lambda: process.poll() is None)
    yield f"unix://{folder}/s"
    process.kill()
    process.wait()


@pytest.fixture
def broker(server):
    client = redis.Redis.from_url(server)
    client.flushall()
    return client


@pytest.fixture
def listener(server):
    return Listener(server, {Queue.CONTROL: 60.0})


def send(broker, number):
    """As kombu does: new messages to the left, the next one to the right."""
    broker.lpush(Queue.CONTROL, json.dumps({"headers": {"id": f"advance-{number}"}, "body": ""}))


def test_a_head_that_does_not_move_is_noticed_once_per_patience(broker, listener):
    send(broker, 1)
    assert [listener.deaf(now) for now in (0, 30, 60)] == [[], [], []]
    assert listener.deaf(61) == [Queue.CONTROL]
    assert listener.deaf(62) == []
    assert listener.deaf(100) == []
    assert listener.deaf(123) == [Queue.CONTROL]


def test_more_messages_behind_the_same_head_do_not_hide_it(broker, listener):
    send(broker, 1)
    listener.deaf(0)
    send(broker, 2)
    assert listener.deaf(61) == [Queue.CONTROL]


def test_a_queue_that_moves_is_left_alone(broker, listener):
    for now in range(0, 300, 30):
        send(broker, now)
        send(broker, now + 1)
        assert listener.deaf(now) == []
        broker.rpop(Queue.CONTROL)


def test_an_empty_queue_is_left_alone(broker, listener):
    assert [listener.deaf(now) for now in (0, 100, 200)] == [[], [], []]


def test_time_without_a_broker_does_not_count(broker, tmp_path, server):
    listener = Listener(server, {Queue.CONTROL: 60.0})
    send(broker, 1)
    listener.deaf(0)
    listener.url = f"unix://{tmp_path}/nobody"
    assert listener.deaf(50) == []
    listener.url = server
    assert listener.deaf(100) == []
    assert listener.deaf(161) == [Queue.CONTROL]


def test_patience_is_longer_than_any_task_may_take():
    from kernelsite.celery import app
    from kernelsite.searches.tasks import propose

    assert PATIENCE_S[Queue.CONTROL] > app.conf.task_time_limit
    assert PATIENCE_S[Queue.AGENT] > propose.time_limit
