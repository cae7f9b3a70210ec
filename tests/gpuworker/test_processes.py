"""Processes of a worker: nothing outlives it, and it outlives its parts."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from pathlib import Path

import pytest
from conftest import request_for

ROOT = Path(__file__).parents[2]
HANG = '#include <cstdint>\nextern "C" int run(void**, const int64_t*, void*) { for (;;) {} }\n'
PLAIN = (Path(__file__).parent / "cheats" / "honest" / "plain.cpp").read_text()


def parents():
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        fields = text.rpartition(")")[2].split()
        if fields[0] not in "ZX":
            found[int(path.parent.name)] = int(fields[1])
    return found


def descendants(root):
    """Every living process below one; taken while all of them live."""
    known = parents()
    below, added = {root}, True
    while added:
        more = {pid for pid, parent in known.items() if parent in below} - below
        added = bool(more)
        below |= more
    return below - {root}


def gone(pids, patience_s=10.0):
    deadline = time.monotonic() + patience_s
    while (left := pids & parents().keys()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not left


@pytest.fixture
def served():
    command = [sys.executable, "-m", "gpuworker", "serve", "--stdio"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    yield process
    process.kill()
    process.wait()


def read(process, event):
    for line in process.stdout:
        message = json.loads(line)
        if message["event"] == event:
            return message
    raise AssertionError(f"ended without {event}")


def ask(process, *requests):
    line = {"op": "evaluate", "requests": [request.dump() for request in requests]}
    process.stdin.write(json.dumps(line) + "\n")
    process.stdin.flush()


def wait_for_inmate(process):
    """Until a candidate of a private user runs."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        below = descendants(process.pid)
        if len(below) >= 8 and any(is_spinning(pid) for pid in below):
            return below
        time.sleep(0.1)
    raise AssertionError("no candidate came up")


def is_spinning(pid):
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return words[0] == "R" and int(words[11]) > 30 and comm(pid) == "candidate"
    except (FileNotFoundError, ProcessLookupError, IndexError):
        return False


def test_kill_9_of_the_runner_leaves_no_process(served):
    read(served, "ready")
    ask(served, request_for(HANG, deadline_s=100.0))
    read(served, "started")
    below = wait_for_inmate(served)
    served.kill()
    served.wait()
    assert gone(below)


def test_the_end_of_stdin_ends_it_after_its_work(served):
    read(served, "ready")
    below = descendants(served.pid)
    ask(served, request_for(PLAIN), request_for("nonsense"))
    served.stdin.close()
    assert read(served, "record")["evaluation"]["status"] in {"PASSED", "UNSTABLE_TIMING"}
    assert read(served, "record")["evaluation"]["status"] == "COMPILE_ERROR"
    assert served.wait(20) == 0
    assert gone(below)


def test_lines_that_are_no_request_are_answered_and_survived(served):
    read(served, "ready")
    for line in ("nonsense", "[]", '{"op": "dance"}', '{"op": "evaluate", "requests": [{}]}'):
        served.stdin.write(line + "\n")
        served.stdin.flush()
        assert "not a request" in read(served, "error")["message"]
    ask(served, request_for("nonsense"))
    record = read(served, "record")
    assert (record["id"], record["token"]) == ("1", "token")


def test_alive_is_said_while_a_candidate_hangs(served):
    read(served, "ready")
    ask(served, request_for(HANG, deadline_s=24.0))
    assert read(served, "started")["id"] == "1"
    assert read(served, "alive") == {"event": "alive", "id": "1", "token": "token"}
    assert read(served, "record")["evaluation"]["status"] == "HANG"


def test_a_dead_judge_is_our_fault_and_is_replaced(served):
    read(served, "ready")
    ask(served, request_for(HANG, deadline_s=100.0), request_for(PLAIN))
    read(served, "started")
    below = wait_for_inmate(served)
    (zygote,) = [pid for pid, parent in parents().items() if parent == served.pid]
    judge = min(pid for pid, parent in parents().items() if parent == zygote)
    os.kill(judge, signal.SIGKILL)
    first = read(served, "record")["evaluation"]
    assert first["status"] == "INFRA_ERROR"
    assert read(served, "record")["evaluation"]["status"] in {"PASSED", "UNSTABLE_TIMING"}
    assert gone(below - {served.pid})


def test_grandchildren_of_a_compiler_die_at_the_deadline(served):
    read(served, "ready")
    before = descendants(served.pid)
    # Constant expressions cost the compiler time and no memory: a huge array ran out of that first on a fast machine.
    source = (
        HANG
        + "template <int N> constexpr int spin() { int t = N; for (int i = 0; i < 200000; ++i) t ^= i; return t; }\n"
    )
    source += "\n".join(f'static_assert(spin<{n}>() != -1, "");' for n in range(1000))
    ask(served, request_for(source, deadline_s=2.0))
    deadline = time.monotonic() + 10
    compilers = set()
    while not compilers and time.monotonic() < deadline:
        compilers = {p for p in descendants(served.pid) - before if comm(p) in {"cc1plus", "g++"}}
        time.sleep(0.02)
    assert compilers
    assert read(served, "record")["evaluation"]["status"] == "TIMEOUT"
    assert gone(compilers)


def comm(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


@pytest.mark.exhaustive
def test_walls_stand_around_a_python_that_lies_below_tmp(tmp_path):
    """The private /tmp of a cell once hid, or failed over, the environment that the worker was started from."""
    home = Path(tempfile.mkdtemp(dir="/tmp", prefix="ks-env-"))
    try:
        venv.create(home, with_pip=False)
        site = next(home.glob("lib/python3*/site-packages"))
        (site / "all.pth").write_text("\n".join([sysconfig.get_path("purelib"), str(ROOT)]))
        command = [home / "bin/python", "-m", "gpuworker", "doctor", "--json"]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    finally:
        shutil.rmtree(home)
    # Not its exit status: how well times repeat is the machine's affair.
    found = json.loads(ran.stdout)
    assert found["sandbox"]["fine"], ran.stdout + ran.stderr
    assert found["an honest kernel"]["fine"], ran.stdout
