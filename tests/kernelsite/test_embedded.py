from __future__ import annotations

import os
import subprocess
import time

import pytest
import redis

from kernelsite import embedded


@pytest.fixture
def start(tmp_path):
    started = []

    def begin():
        process = subprocess.Popen(embedded.command(tmp_path / "s", tmp_path / "data"))
        started.append(process)
        embedded.wait_until_ready(tmp_path / "s", alive=lambda: process.poll() is None)
        return process, redis.Redis(unix_socket_path=str(tmp_path / "s"))

    yield begin
    for process in started:
        process.kill()
        process.wait()


def test_it_works(start, tmp_path):
    _, client = start()
    assert client.incr("boot") == 1
    assert embedded.answers(tmp_path / "s")
    assert (tmp_path / "s").stat().st_mode & 0o077 == 0
    assert client.config_get("port") == {"port": "0"}


def test_what_was_queued_survives_a_kill(start):
    process, client = start()
    client.rpush("control", "message")
    time.sleep(1.2)  # appendfsync everysec
    process.kill()
    process.wait()
    _, client = start()
    assert client.lrange("control", 0, -1) == [b"message"]


def test_nobody_answers_where_no_server_is(tmp_path):
    assert not embedded.answers(tmp_path / "s")
    (tmp_path / "s").touch()
    assert not embedded.answers(tmp_path / "s")


def test_a_server_that_ends_at_once_is_not_waited_for(tmp_path):
    before = time.monotonic()
    with pytest.raises(embedded.EmbeddedServerError, match="ended at once"):
        embedded.wait_until_ready(tmp_path / "s", alive=lambda: False)
    assert time.monotonic() - before < 1


def test_a_silent_server_is_not_waited_for_for_ever(tmp_path):
    with pytest.raises(embedded.EmbeddedServerError, match="does not answer"):
        embedded.wait_until_ready(tmp_path / "s", alive=lambda: True, patience_s=0.05)


def test_a_predecessor_is_waited_for(start, tmp_path):
    process, _ = start()
    with pytest.raises(embedded.EmbeddedServerError, match="another server"):
        embedded.wait_until_gone(tmp_path / "s", patience_s=0.1)
    process.terminate()
    embedded.wait_until_gone(tmp_path / "s")
    assert not embedded.answers(tmp_path / "s")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_somebody_else_is_refused(tmp_path):
    (tmp_path / "data").mkdir()
    os.chown(tmp_path / "data", 65534, 65534)
    with pytest.raises(embedded.EmbeddedServerError, match="another user"):
        embedded.command(tmp_path / "s", tmp_path / "data")
