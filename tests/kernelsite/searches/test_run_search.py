from __future__ import annotations

import json
import subprocess
import sys
import textwrap

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from search.library import shipped_workload
from search.stdio import DeviceError, StdioDevice

WORKER = textwrap.dedent(
    """
    import json, sys
    sys.path[:0] = {paths!r}
    from synthetic_device import answer
    from search.records import EvaluationRequest
    def say(**message):
        print(json.dumps(message), flush=True)
    say(event="ready", device={{"device_class": "cpu", "name": "synthetic"}})
    print("a stray line that is no message", flush=True)
    for line in sys.stdin:
        for document in json.loads(line)["requests"]:
            request = EvaluationRequest.load(document)
            own = dict(id=request.id, token=request.token)
            say(event="started", **own)
            say(event="alive", **own)
            say(event="record", **own, evaluation=answer(request).dump())
    """
)


def worker(code):
    return (sys.executable, "-c", code)


@pytest.fixture
def synthetic(monkeypatch, tmp_path):
    """`run_search` talks to the synthetic device instead of a real one."""
    code = WORKER.format(paths=[path for path in sys.path if path])
    start = StdioDevice.__init__
    monkeypatch.setattr(StdioDevice, "__init__", lambda self, device: start(self, device, worker(code)))


def test_it_works(synthetic, capsys):
    call_command("run_search", "--workload", "softmax", "--budget", "16", "--seed", "1", "--json")
    captured = capsys.readouterr()
    document = json.loads(captured.out.splitlines()[-1])
    arm = document["arms"]["two_stage"]
    assert document["comparison"] is None
    assert document["url"] is None
    assert set(arm) >= {"evaluations", "passed", "best_speedup", "best_us", "structures", "low", "high"}
    assert 8 < arm["evaluations"] <= 16
    assert arm["low"] <= arm["best_speedup"] <= arm["high"]
    assert "PASSED" in captured.err
    assert len(captured.err.splitlines()) > arm["evaluations"]


def test_same_seed_same_line(synthetic, capsys):
    lines = []
    for _ in range(2):
        call_command("run_search", "--workload", "rmsnorm", "--budget", "12", "--strategy", "mixed", "--json")
        lines.append(capsys.readouterr().out.splitlines()[-1])
    assert lines[0] == lines[1]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--workload", "nothing", "--budget", "16"], "--workload"),
        (["--workload", "softmax", "--budget", "16", "--strategy", "wishful"], "--strategy"),
        (["--workload", "softmax", "--budget", ""], "--budget"),
        (["--workload", "softmax", "--budget", "-5"], "--budget"),
        (["--workload", "softmax", "--budget", "0"], "--budget"),
        (["--workload", "softmax", "--budget", "1e3"], "--budget"),
        (["--workload", "softmax"], "--budget"),
        (["--workload", "softmax", "--budget", "16", "--seed", "-1"], "--seed"),
    ],
)
def test_wrong_options_end_with_2_and_are_named(options, named, settings):
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "run_search", *options]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert f"argument {named}" in ended.stderr or named in ended.stderr.splitlines()[-1]
    assert "Traceback" not in ended.stderr


def test_a_worker_that_cannot_start_is_told(monkeypatch):
    start = StdioDevice.__init__
    code = "import sys; sys.exit(3)"
    monkeypatch.setattr(StdioDevice, "__init__", lambda self, device: start(self, device, worker(code)))
    with pytest.raises(CommandError, match="exit status 3"):
        call_command("run_search", "--workload", "softmax", "--budget", "16")


def test_a_worker_that_speaks_otherwise_is_told():
    code = 'print(\'{"event": "hello"}\', flush=True); open(0).read()'
    with pytest.raises(DeviceError, match="instead of ready"), StdioDevice("cpu", worker(code)):
        pass


def test_a_worker_that_dies_in_the_middle_is_told(order, launch, wire):
    from kernelsite.searches import dispatch
    from search.records import TaskName

    search = launch()
    wire.run_until(lambda: bool(wire.of(TaskName.EVALUATE)))
    request = dispatch.request_of(search.evaluations.get())
    code = 'print(\'{"event": "ready", "device": {}}\', flush=True); input()'
    with StdioDevice("cpu", worker(code)) as device, pytest.raises(DeviceError, match="ended"):
        device.evaluate(request)


def test_the_worker_inherits_no_secret(monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "canary")
    code = "import os, json; print(json.dumps({'event': 'ready', 'device': dict(os.environ)}), flush=True); open(0).read()"
    with StdioDevice("cpu", worker(code)) as device:
        assert "PATH" in device.description
        assert "canary" not in device.description.values()


@pytest.fixture
def own(tmp_path):
    """A workload and a program in files."""
    workload = shipped_workload("softmax").model_copy(update={"name": "ours", "op_type": "sort"})
    files = {"ours.json": workload.model_dump_json(), "mine.cpp": '// KNOBS {"BLOCK": 8}\nint run();\n'}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_program_and_a_workload_of_one_s_own(synthetic, own, capsys):
    options = [
        "--workload",
        str(own / "ours.json"),
        "--start",
        str(own / "mine.cpp"),
        "--budget",
        "8",
        "--json",
    ]
    call_command("run_search", *options)
    captured = capsys.readouterr()
    assert json.loads(captured.out.splitlines()[-1])["arms"]["two_stage"]["structures"] == 1
    assert "explore given " in captured.err
    assert "BLOCK=8" in captured.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--start", "{}/mine.cpp"] * 5, "at most 4 programs, not 5"),
        (["--start", "{}/kernel.py"], "written in triton"),
        (["--start", "{}/none.cpp"], "No such file"),
        (["--workload", "{}/mine.cpp"], "mine.cpp: document"),
        (["--workload", "magic"], "is no file and none of"),
    ],
)
def test_files_that_are_no_use_are_said(own, options, words):
    (own / "kernel.py").write_text("import triton\n\n\ndef run(x, y):\n    pass\n")
    given = [one.format(own) for one in options]
    with pytest.raises(CommandError, match=words):
        call_command("run_search", "--workload", "softmax", "--budget", "8", *given)
