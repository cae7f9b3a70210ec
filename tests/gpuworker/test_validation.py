"""Validation of workloads on the real device side: sound ones, useless ones, and references that do what they should not."""

from __future__ import annotations

import pytest
from conftest import SOFTMAX

from gpuworker.baselines.registry import BASELINES
from gpuworker.options import Options
from gpuworker.runner import Runner
from gpuworker.validation import validate
from search.validation import Ending, Outcome, Part, Validation, ValidationRequest
from search.workload import Case

SMALL = SOFTMAX.model_copy(
    update={
        "cases": (
            Case(name="main", axes={"M": 16, "N": 64}),
            Case(name="hidden", axes={"M": 3, "N": 9}, hidden=True, timed=False),
        )
    }
)


def run(runner, workload=SMALL, tell=lambda known: None, **more):
    more = {"baselines": (), "selftest_bytes": 0, **more}
    request = ValidationRequest(id="1", token="t", workload=workload.dump(), device_class="cpu", **more)
    return validate(runner, request, tell)


def referring(text):
    return SMALL.model_copy(update={"reference": f"import torch\n\n\ndef run(x):\n{text}"})


def test_a_sound_workload_passes_and_tells_on_its_way(runner):
    told = []
    found = run(runner, tell=told.append, baselines=("eager", "library"))
    assert (found.ending, found.message, found.hash) == (Ending.PASSED, "", SMALL.hash)
    assert [one.case for one in found.cases] == ["hidden", "main"], "the smallest first"
    assert found.environment.device_class == "cpu"
    assert found.selftest.cases == ("hidden",), "mutants are tried on the smallest case whatever its size"
    assert not found.selftest.trivial
    assert found.selftest.killed > 10
    assert found.baselines["library"].why
    eager = found.baselines["eager"]
    assert eager.why or eager.cases["main"].median_us > eager.cases["main"].floor_us > 0
    parts = [one.part for one in told]
    assert parts == sorted(parts, key=list(Part).index)
    assert set(parts) == set(Part)
    assert all(one.ending is None for one in told)
    assert Validation.load(found.dump()) == found


@pytest.mark.parametrize(
    ("text", "words", "log"),
    [
        ("    while True:\n        pass\n", "did not finish within 2 s", ""),
        ("    import urllib.request\n    urllib.request.urlopen('http://1.1.1.1', timeout=1)\n", "raised", "urlopen"),
        ("    import socket\n    socket.socket().connect(('127.0.0.1', 6379))\n", "", ""),
        ("    open('/etc/passwd').read()\n    return x.nothing\n", "raised", ""),
        ("    import os\n    os._exit(0)\n", "exit code 0", ""),
        ("    return x.sum()\n", "another shape", ""),
        ("    return x, x\n", "", ""),
        ("    raise ValueError('\\x1b[31m' + 'x' * 10**6)\n", "raised", ""),
    ],
    ids=["hangs", "asks the network", "connects", "reads files", "leaves", "another shape", "two outputs", "shouts"],
)  # fmt: skip
def test_a_reference_that_cannot_be_judged_by_fails_with_a_reason(runner, text, words, log):
    found = run(runner, referring(text), reference_s=2.0)
    assert found.ending is Ending.FAILED
    (case,) = found.cases
    assert not case.passed
    assert found.message.startswith("a hidden case: the reference")
    assert words in case.message
    assert log in case.log
    assert len(case.log) <= 4000
    assert found.selftest is None


def test_a_reference_that_fails_in_one_case_only_names_it(runner):
    found = run(runner, referring("    return x[:1] if len(x) > 10 else torch.softmax(x, -1)\n"))
    assert [one.passed for one in found.cases] == [True, False]
    assert found.message.startswith("case main: the reference")


@pytest.mark.parametrize(
    ("text", "name"),
    [("    return x * 0\n", "zeros"), ("    return torch.ones_like(x)\n", "ones")],
)
def test_an_output_that_is_always_the_same_is_told(runner, text, name):
    found = run(runner, referring(text))
    assert found.ending is Ending.PASSED
    assert name in [one.name for one in found.selftest.trivial]


def test_a_tolerance_that_takes_anything_lets_zeros_pass(runner):
    tolerance = SMALL.tolerance.model_copy(update={"scale": 1e9, "frobenius": 1e9})
    found = run(runner, SMALL.model_copy(update={"tolerance": tolerance}))
    survivors = {one.name for one in found.selftest.trivial if one.outcome is Outcome.SURVIVED}
    assert survivors >= {"zeros", "ones", "mean everywhere"}


def test_a_workload_that_this_worker_cannot_read_fails(runner):
    request = ValidationRequest(id="1", token="t", workload={"name": "x"}, device_class="cpu")
    found = validate(runner, request, lambda known: None)
    assert (found.ending, found.hash) == (Ending.FAILED, "")


class Broken:
    """A runner whose device side dies at a question."""

    shut_out = ""

    def __init__(self, runner, at):
        self._runner = runner
        self.options = runner.options
        self._at = at

    def ask_again(self, document, patience_s, alive):
        return None if self._at in document else self._runner.ask_again(document, patience_s, alive)


def test_a_device_side_that_dies_is_no_verdict(runner):
    found = run(Broken(runner, "trial"))
    assert (found.ending, found.cases) == (Ending.INFRA, ())
    assert "died" in found.message
    found = run(Broken(runner, "most_bytes"))
    assert found.ending is Ending.PASSED
    assert "died" in found.selftest_note


def test_a_device_in_quarantine_says_so(runner):
    shut = Broken(runner, "")
    shut.shut_out = "too many faults"
    assert "too many faults" in run(shut).message


def test_an_uploaded_reference_never_runs_without_walls(runner):
    bare = Broken(runner, "")
    bare.options = runner.options.model_copy(update={"unsandboxed": True})
    found = run(bare)
    assert (found.ending, found.cases) == (Ending.INFRA, ())
    assert "no sandbox" in found.message


def test_the_device_side_is_started_anew_after_a_death(tmp_path):
    worker = Runner(Options(state=str(tmp_path)))
    tmp_path.chmod(0o700)
    worker.start()
    try:
        worker._zygote.kill()
        worker._zygote.wait()
        assert run(worker).ending is Ending.INFRA
        assert run(worker, referring("    return x.sum()\n")).ending is Ending.FAILED
    finally:
        worker.close()


def test_the_baselines_that_are_asked_for_are_known():
    assert set(ValidationRequest.model_fields["baselines"].default) <= set(BASELINES)
