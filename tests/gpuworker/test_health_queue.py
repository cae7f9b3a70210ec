"""A queue worker whose device is shut out: says so, answers what it still gets, and leaves its queue to others."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import request_for

from gpuworker import state
from gpuworker.health.quarantine import MOST_FAULTS, Quarantine
from gpuworker.options import Options

test_app = pytest.importorskip("test_app", reason="the embedded broker is not installed")

pytestmark = pytest.mark.slow


@pytest.fixture
def quarantine(tmp_path, monkeypatch):
    """That of a worker with a state folder of its own."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(state.tempfile, "tempdir", None)
    found = Quarantine.of(Options(state=str(state.folder())))
    for number in range(MOST_FAULTS):
        found.fault(str(number), "a cell did not start")
    yield found
    state.tempfile.tempdir = None


@pytest.fixture
def broker(tmp_path):
    folder = tmp_path / "broker"
    folder.mkdir()
    server = test_app.Broker(folder)
    yield server
    server.stop()


@pytest.fixture
def worker(broker, quarantine):
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "celery", "-q", "-A", "gpuworker.app", "worker", "-Q", "cpu"),
            *("--pool", "solo", "-l", "ERROR", "--without-gossip", "--without-mingle", "--without-heartbeat"),
        ],
        env={**os.environ, "REDIS_URL": f"unix://{broker.socket}"},
        cwd=Path(__file__).parents[2],
        stderr=subprocess.DEVNULL,
    )
    yield process
    process.kill()
    process.wait()


def test_a_worker_that_is_shut_out_leaves_its_queue_and_takes_it_again(broker, quarantine, worker):
    (_, arguments), *_ = test_app.messages(broker, "fleet.hello")
    assert arguments["device"]["quarantined"].startswith(f"{MOST_FAULTS} infrastructure faults in a row")
    time.sleep(2)
    broker.send(request_for("nonsense"))
    time.sleep(3)
    assert broker.client().llen("cpu") == 1, "it took work while it was shut out"
    quarantine.clear()
    record = test_app.messages(broker, "searches.record")[-1][1]
    assert record["evaluation"]["status"] == "COMPILE_ERROR"
