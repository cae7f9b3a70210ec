"""Real processes: shells and sleeps."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from honcho.printer import Printer
from processes import eventually, is_alive

from kernelsite.ops.supervisor import BACKOFF_S, Program, Supervisor

ROOT = Path(__file__).parents[3]


@pytest.fixture
def output():
    return io.StringIO()


@pytest.fixture
def supervisor(tmp_path, output):
    with Supervisor(Printer(output), str(tmp_path)) as supervisor:
        yield supervisor


def shell(name, script):
    return Program(name, ("/bin/sh", "-c", script), {"PATH": os.environ["PATH"]})


def run_until(supervisor, happened, patience_s=5.0):
    """Supervise until it has happened; whether it has."""
    deadline = time.monotonic() + patience_s
    supervisor.run(lambda: not happened() and time.monotonic() < deadline)
    return bool(happened())


def number_in(file):
    text = file.read_text() if file.exists() else ""
    return int(text) if text.endswith("\n") else None


def test_it_works(supervisor, output):
    supervisor.start(shell("one", "echo hello; exec sleep 60"))
    supervisor.start(shell("two", "echo from two >&2; exec sleep 60"))
    assert run_until(supervisor, lambda: "hello" in output.getvalue() and "from two" in output.getvalue())
    assert supervisor.is_running("one")
    assert set(supervisor.pids) == {"one", "two"}


def test_a_killed_program_runs_again_within_two_seconds(supervisor, output):
    supervisor.start(shell("one", "exec sleep 60"))
    first = supervisor.pids["one"]
    before = time.monotonic()
    os.kill(first, signal.SIGKILL)
    assert run_until(supervisor, lambda: supervisor.pids.get("one", first) != first)
    assert time.monotonic() - before < 2
    assert "one was killed by signal 9; starts again now" in output.getvalue()


def test_a_program_that_dies_at_once_is_started_less_and_less_often(supervisor, tmp_path, output):
    supervisor.start(shell("one", "echo x >> starts; exit 3"))
    run_until(supervisor, lambda: False, patience_s=1.2)
    starts = len((tmp_path / "starts").read_text().split())
    assert starts == 3  # at 0, at once, after 0.5 s; then not before 1.5 s
    assert f"one ended with status 3; starts again in {BACKOFF_S[2]:g} s" in output.getvalue()


def test_other_programs_go_on_when_one_dies(supervisor):
    supervisor.start(shell("one", "exec sleep 60"))
    supervisor.start(shell("two", "exit 1"))
    before = supervisor.pids["one"]
    run_until(supervisor, lambda: False, patience_s=0.7)
    assert supervisor.pids["one"] == before


def test_children_of_a_dead_program_are_ended_before_it_starts_again(supervisor, tmp_path):
    supervisor.start(shell("one", "sleep 60 & echo $! > child; wait"))
    assert run_until(supervisor, lambda: number_in(tmp_path / "child"))
    child = number_in(tmp_path / "child")
    os.kill(supervisor.pids["one"], signal.SIGKILL)
    assert run_until(supervisor, lambda: not is_alive(child))


def test_a_child_that_left_the_process_group_is_ended_too(supervisor, tmp_path):
    supervisor.start(shell("one", "setsid sh -c 'echo $$ > child; exec sleep 60' & wait"))
    assert run_until(supervisor, lambda: number_in(tmp_path / "child"))
    child = number_in(tmp_path / "child")
    os.kill(supervisor.pids["one"], signal.SIGKILL)
    assert run_until(supervisor, lambda: not is_alive(child))


def test_at_the_end_nobody_is_left(tmp_path, output):
    with Supervisor(Printer(output), str(tmp_path)) as supervisor:
        supervisor.start(shell("polite", "exec sleep 60"))
        supervisor.start(shell("parent", "setsid sh -c 'echo $$ > child; exec sleep 60' & wait"))
        assert run_until(supervisor, lambda: number_in(tmp_path / "child"))
        pids = [*supervisor.pids.values(), number_in(tmp_path / "child")]
    assert [pid for pid in pids if is_alive(pid)] == []


def test_who_does_not_want_to_end_is_made_to(tmp_path, output):
    with Supervisor(Printer(output), str(tmp_path)) as supervisor:
        supervisor.start(shell("broker", "exec sleep 60"))
        supervisor.start(shell("stubborn", "trap '' TERM; echo deaf; while :; do sleep 0.1; done"))
        assert run_until(supervisor, lambda: "deaf" in output.getvalue())
        pids, before = list(supervisor.pids.values()), time.monotonic()
    assert [pid for pid in pids if is_alive(pid)] == []
    assert time.monotonic() - before < 8


def test_an_exception_inside_leaves_nobody_either(tmp_path, output):
    pids = []

    def break_in_the_loop():
        with Supervisor(Printer(output), str(tmp_path)) as supervisor:
            supervisor.start(shell("one", "exec sleep 60"))
            pids.extend(supervisor.pids.values())
            supervisor.run(lambda: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        break_in_the_loop()
    assert len(pids) == 1
    assert not is_alive(pids[0])


def test_output_without_newlines_is_printed_in_pieces(supervisor, output):
    supervisor.start(shell("one", "head -c 300000 /dev/zero | tr '\\0' x; exec sleep 60"))
    assert run_until(supervisor, lambda: output.getvalue().count("x") > 200_000)


def test_a_program_that_closes_its_output_does_not_keep_the_supervisor_busy(supervisor):
    supervisor.start(shell("one", "exec >&- 2>&-; exec sleep 60"))
    run_until(supervisor, lambda: False, patience_s=0.3)
    before = time.process_time()
    run_until(supervisor, lambda: False, patience_s=1.0)
    assert time.process_time() - before < 0.3


PARENT = """
import sys
from honcho.printer import Printer
from kernelsite.ops.supervisor import Program, Supervisor
with Supervisor(Printer(sys.stdout), sys.argv[1]) as supervisor:
    for name in ("one", "two"):
        supervisor.start(Program(name, ("/bin/sleep", "60"), {}))
    print(*supervisor.pids.values(), flush=True)
    supervisor.run(lambda: True)
"""


@pytest.fixture
def parent(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    pids = [int(word) for word in process.stdout.readline().split()]
    yield process, pids
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_nobody_outlives_the_supervisor(parent, number):
    process, pids = parent
    process.send_signal(number)
    process.wait(timeout=10)
    assert eventually(lambda: not any(map(is_alive, pids)))
