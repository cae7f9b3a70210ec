"""Programs that the site has run: what they tell, what they do wrong, and whose fault it is."""

from __future__ import annotations

import json
import re
import time

import pytest

from gpuworker.options import Options
from gpuworker.probe_job import run_program
from gpuworker.runner import Runner
from search.formats.containers import read_upload
from search.formats.format import Notes
from search.formats.probes import Probe, ProbeAnswer, ProbeRequest
from search.formats.registry import finish
from search.validation import Ending

MODEL = """import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        {body}
        return torch.nonzero(torch.ones(6)).float(), torch.softmax(x, -1)


def get_inputs():
    return [torch.rand(64, 128)]


def get_init_inputs():
    return []
"""


def asked(files, form="kernelbench", task="shapes", name="picks", patience_s=60.0):
    program = Probe(format=form, name=name, where=f"{name}.py", line=None, problem="", files=files)
    return ProbeRequest(
        id="1", token="t", program=program, task=task, device_class="cpu", patience_s=patience_s
    )


def run(runner, body, **more):
    return run_program(runner, asked({"picks.py": MODEL.format(body=body)}, **more), lambda: None)


def test_what_an_import_asks_for_is_answered(runner):
    (item,) = read_upload(MODEL.format(body="pass").encode(), "picks.py").items
    request = ProbeRequest(id="1", token="t", program=item.probe, task="shapes", device_class="cpu")
    found = run_program(runner, request, lambda: None)
    assert (found.ending, found.message) == (Ending.PASSED, "")
    assert found.device
    workload = finish(item.probe, ProbeAnswer.load(found.dump()).told, Notes())
    sizes = workload.sizes(workload.cases[0])
    assert [workload.shape(one, sizes) for one in workload.outputs.values()] == [(6, 1), (64, 128)]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise RuntimeError('no such luck')", "no such luck"),
        ("import os\n        for _ in range(10_000): os.fork()", "forbidden system call"),
        ("print('x' * 100_000_000); raise ValueError('too much said')", "too much said|closed|exit"),
        ("import urllib.request as u; u.urlopen('http://1.1.1.1', timeout=1)", "(?i)urlopen|refused|permit"),
        ("open('/etc/passwd', 'w')", "(?i)read-only|denied|permitted|no such"),
        ("return [x] * 100_000", "over the limit"),
        ("print('\\0 zero'); raise ValueError('\\0')", "zero"),
    ],
)
def test_a_hostile_program_is_a_sentence_and_its_own_fault(runner, body, words):
    found = run(runner, body)
    assert found.ending is Ending.FAILED, found
    assert len(found.message) + len(found.log) < 9000
    assert "\0" not in found.message + found.log
    assert re.search(words, f"{found.message}\n{found.log}"), found


def test_the_worker_goes_on_after_what_is_no_program(runner):
    told = "import json\n\n\ndef dumps(*_, **__):\n    return '[{\"a\": 1e999}]'\n\n\njson.dumps = dumps\n"
    source = told + MODEL.format(body="pass")
    found = run_program(runner, asked({"picks.py": source}), lambda: None)
    assert (found.ending, found.message) == (Ending.FAILED, "what the program told is no JSON")
    found = run_program(runner, asked({"no good name.py": source}), lambda: None)
    assert found.ending is Ending.FAILED
    assert "no good name.py" in found.message
    assert run(runner, "pass").ending is Ending.PASSED


def test_a_hanging_program_is_ended_while_the_site_is_told_that_it_runs(runner, monkeypatch):
    monkeypatch.setattr("gpuworker.runner.ALIVE_S", 0.2)
    heard = []
    began = time.monotonic()
    request = asked({"picks.py": MODEL.format(body="while True: pass")}, patience_s=1.5)
    found = run_program(runner, request, lambda: heard.append(1))
    assert (found.ending, found.told) == (Ending.FAILED, ())
    assert found.message == "the program did not finish within 1.5 s"
    assert time.monotonic() - began < 20
    assert len(heard) > 3
    assert run(runner, "pass").ending is Ending.PASSED


def test_without_walls_nothing_runs():
    idle = Runner(Options(state="/nowhere", unsandboxed=True))
    found = run_program(idle, asked({"picks.py": ""}), lambda: None)
    assert (found.ending, "no sandbox" in found.message) == (Ending.INFRA, True)
    assert json.dumps(found.dump())
