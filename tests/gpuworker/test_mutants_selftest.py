"""The self-test of whole workloads, through the real station, and the page in the repository."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gpuworker import state
from gpuworker.mutants import command
from gpuworker.mutants.explained import EXPLAINED
from gpuworker.mutants.record import MOST_BYTES
from gpuworker.options import Options
from gpuworker.runner import Runner, StartError
from search.validation import Outcome
from search.workload import Case, DType, ScalarInput, Tensor, Tolerance, VarAxis, Workload, shipped_workloads

# Nothing is timed here.
pytestmark = pytest.mark.patient

ROOT = Path(__file__).parents[2]
SCALED = Workload(
    name="scaled_sum",
    title="Scaled row sums",
    op_type="sum",
    axes={"M": VarAxis(), "N": VarAxis()},
    inputs={
        "x": Tensor(shape=("M", "N"), dtype=DType.FLOAT32),
        "unused": Tensor(shape=("N",), dtype=DType.FLOAT32),
        "factor": Tensor(shape=None, dtype=DType.FLOAT32),
    },
    outputs={
        "y": Tensor(shape=("M",), dtype=DType.FLOAT32),
        "largest": Tensor(shape=("M",), dtype=DType.INT64),
    },
    reference="def run(x, unused, factor):\n    return x.sum(-1) * factor, x.argmax(-1)\n",
    cases=(
        Case(name="main", axes={"M": 40, "N": 300}, inputs={"factor": ScalarInput(value=1.5)}),
        Case(name="huge", axes={"M": 4096, "N": 4096}, inputs={"factor": ScalarInput(value=1.5)}),
    ),
    tolerance=Tolerance(scale=32.0, relative=1e-4, frobenius=1e-4),
)


@pytest.fixture(scope="module")
def station():
    runner = Runner(Options(state=str(state.folder())))
    runner.start()
    yield runner
    runner.close()


@pytest.fixture
def examined(station):
    """The self-test of a workload, by the name of each mutant."""

    def examine(workload):
        (test,) = command.run(station, [workload], MOST_BYTES)
        return test, {one.name: one for one in test.mutants}

    return examine


def test_a_strict_tolerance_kills_and_what_an_input_does_not_change_is_said(examined):
    test, mutants = examined(SCALED)
    assert (test.cases, test.left_out) == (("main",), ("huge",))
    assert test.survivors == ()
    assert test.honest is None  # forty rows give forty elements
    assert test.honest_few.margin >= 4
    assert test.least_scale < SCALED.tolerance.scale
    killed = ("zeros (`y`)", "zeros (`largest`)", "1 % too large (`y`)", "input `x` ignored: ones")
    assert {mutants[name].outcome for name in killed} == {Outcome.KILLED}
    assert mutants["1 % too large (`y`)"].error > 10
    assert mutants["zeros (`largest`)"].error is None
    assert mutants["sums kept in float16"].outcome is Outcome.KILLED
    assert mutants["input `factor` ignored: zeros"].outcome is Outcome.KILLED
    assert mutants["input `unused` ignored: zeros"].outcome is Outcome.NO_EFFECT
    assert mutants["1 % too large (`largest`)"].outcome is Outcome.NO_EFFECT


def test_a_loose_tolerance_lets_mutants_live_and_names_their_error(examined):
    loose = SCALED.model_copy(update={"tolerance": Tolerance(scale=32.0, relative=0.05, frobenius=0.05)})
    test, mutants = examined(loose)
    survivor = mutants["1 % too large (`y`)"]
    assert survivor in test.survivors
    assert survivor.error == pytest.approx(0.2, rel=0.05)
    assert mutants["zeros (`y`)"].outcome is Outcome.KILLED
    assert "scaled_sum: survivor not explained: 1 % too large (`y`)" in list(command.faults(test))


def test_a_reference_that_fails_on_a_mutants_inputs_is_told(examined):
    picky = (
        "def run(x, unused, factor):\n    assert bool(x.any())\n    return x.sum(-1) * factor, x.argmax(-1)\n"
    )
    _, mutants = examined(SCALED.model_copy(update={"reference": picky}))
    refused = mutants["input `x` ignored: zeros"]
    assert refused.outcome is Outcome.REFUSED
    assert refused.note == "the reference raised an exception"
    assert mutants["input `x` ignored: ones"].outcome is Outcome.KILLED


def test_a_workload_without_a_small_case_is_refused(examined):
    with pytest.raises(StartError, match="every case is larger"):
        examined(SCALED.model_copy(update={"cases": SCALED.cases[1:]}))


def test_the_command_prints_json_and_ends_with_success():
    line = [sys.executable, "-m", "gpuworker", "selftest", "--workload", "gemm_bias_gelu", "--json"]
    ran = subprocess.run(line, capture_output=True, text=True, cwd=ROOT, check=False)
    assert ran.returncode == 0, ran.stderr
    (test,) = json.loads(ran.stdout)
    assert test["workload"] == "gemm_bias_gelu"
    assert {one["outcome"] for one in test["mutants"]} <= {"killed", "no effect"}


def test_the_page_in_the_repository_has_every_shipped_workload_and_no_unexplained_survivor():
    page = (ROOT / "docs" / "mutants.md").read_text()
    for slug, workload in shipped_workloads().items():
        assert f"## {workload.name}\n\nVersion `{workload.hash[:12]}`" in page, (
            f"make docs/mutants.md: {slug}"
        )
    assert "**not explained**" not in page
    names = {workload.name for workload in shipped_workloads().values()}
    assert set(EXPLAINED) <= names
