"""`manage.py up` as a person starts it: real server, real workers, real signals."""

from __future__ import annotations

import http.cookiejar
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import pytest
from processes import descendants, eventually, is_alive

from kernelsite.ops.launcher import LaunchError, free_place

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
START_S = 60


@dataclass
class Up:
    """A running `up`."""

    process: subprocess.Popen
    folder: Path
    output: Path

    @property
    def ready(self):
        """Content of the ready file, None before."""
        file = self.folder / "ready.json"
        return json.loads(file.read_text()) if file.exists() else None

    @property
    def url(self):
        return self.ready["url"]

    @property
    def login(self):
        return re.search(r"log in as (\S+) / (\S+)", self.output.read_text()).groups()

    def is_ready(self):
        return self.ready is not None and status(f"{self.url}/readyz") == 200


def begin(folder, port=0, var=None):
    output = folder / f"output-{time.monotonic_ns()}"
    (folder / "ready.json").unlink(missing_ok=True)
    command = [sys.executable, "manage.py", "up", "--port", str(port or unused_port())]
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    with output.open("wb") as stream:
        process = subprocess.Popen(
            [*command, "--once-ready-file", str(folder / "ready.json")],
            cwd=ROOT,
            env=environment
            | {"KERNELSITE_VAR": str(var or folder / "var"), "KERNELSITE_SWEEP_INTERVAL_S": "2"},
            stdout=stream,
            stderr=subprocess.STDOUT,
        )
    return Up(process, folder, output)


def unused_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def status(url):
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None


def end(up, number=signal.SIGINT):
    below = descendants(up.process.pid)
    up.process.send_signal(number)
    up.process.wait(timeout=30)
    return below


@pytest.fixture(scope="module")
def up(tmp_path_factory):
    up = begin(tmp_path_factory.mktemp("up"))
    assert eventually(lambda: up.is_ready() or up.process.poll() is not None, START_S)
    assert up.is_ready(), up.output.read_text()
    yield up
    if up.process.poll() is None:
        end(up, signal.SIGKILL)


def test_the_person_it_names_can_log_in(up):
    jar = http.cookiejar.CookieJar()
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    form = browser.open(f"{up.url}/accounts/login/").read().decode()
    username, password = up.login
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', form)[1]
    content = {"username": username, "password": password, "csrfmiddlewaretoken": token}
    answer = browser.open(f"{up.url}/accounts/login/", urllib.parse.urlencode(content).encode())
    assert answer.url == f"{up.url}/"
    assert username in answer.read().decode()
    assert "softmax" in browser.open(f"{up.url}/workloads/").read().decode()


def test_static_files_are_served_without_collecting(up):
    assert status(f"{up.url}/static/vendor/plotly.min.js") == 200
    assert status(f"{up.url}/static/js/site.js") == 200
    assert status(f"{up.url}/static/../manage.py") == 404


def test_another_host_name_is_refused(up):
    request = urllib.request.Request(f"{up.url}/accounts/login/", headers={"Host": "evil.example"})
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(request, timeout=5)
    assert error.value.code == 400


def test_what_it_keeps_is_private(up):
    var = up.folder / "var"
    assert var.stat().st_mode & 0o077 == 0
    for name in ("secret_key", "first_login", "redis.sock"):
        assert (var / name).stat().st_mode & 0o077 == 0, name


def test_the_device_worker_inherits_neither_key_nor_database(up):
    pid = up.ready["programs"]["device"]
    environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    names = {line.split(b"=")[0].decode() for line in environment if line}
    assert "REDIS_URL" in names
    assert not {name for name in names if name.startswith(("KERNELSITE", "DATABASE", "DJANGO"))}


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_the_site_stays_off_the_core_that_measures(up):
    last = max(os.sched_getaffinity(0))
    programs = up.ready["programs"]
    for name in ("server", "web", "control", "agent", "sweeper"):
        assert last not in os.sched_getaffinity(programs[name]), name
    assert last in os.sched_getaffinity(programs["device"])


def test_a_second_one_on_the_same_folder_is_refused(up, tmp_path):
    second = begin(tmp_path, var=up.folder / "var")
    assert second.process.wait(timeout=30) == 1
    assert "already runs" in second.output.read_text()
    assert eventually(up.is_ready)


@pytest.mark.parametrize("name", ["web", "server", "control", "agent", "sweeper", "device"])
def test_a_killed_program_is_healed(up, name):
    pid = up.ready["programs"][name]
    os.kill(pid, signal.SIGKILL)
    assert eventually(lambda: up.ready["programs"].get(name, pid) != pid, 2.0), "not started again in 2 s"
    assert eventually(up.is_ready, 15), up.output.read_text()
    assert not is_alive(pid)


def test_ctrl_c_stops_everything_and_the_next_start_continues(up):
    login = up.login
    # Six programs, two children of each of two workers, and what the device worker has below it.
    assert eventually(lambda: len(descendants(up.process.pid)) >= 12, 20)
    below = end(up, signal.SIGINT)
    assert up.process.returncode == 0
    assert [pid for pid in below if is_alive(pid)] == []
    again = begin(up.folder)
    assert eventually(again.is_ready, START_S), again.output.read_text()
    assert again.login == login
    assert eventually(lambda: len(descendants(again.process.pid)) >= 12, 20)
    below = end(again, signal.SIGKILL)
    assert eventually(lambda: not any(map(is_alive, below)), 10), "orphans after kill -9"


def test_a_taken_port_is_passed_over():
    said = []
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        place = free_place("127.0.0.1", port, said.append)
    assert place.port > port
    assert said == [f"port {port} is taken; using {place.port}"]


def test_a_free_port_is_taken_without_a_word():
    said = []
    port = unused_port()
    assert free_place("127.0.0.1", port, said.append).url == f"http://127.0.0.1:{port}"
    assert said == []


def test_no_port_at_all_is_an_error():
    with pytest.raises(LaunchError, match="no free port"):
        free_place("192.0.2.1", 8000, lambda text: None)
