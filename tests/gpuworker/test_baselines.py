"""Named baselines: what they are, that they are checked before they are timed, and what is said of them."""

from __future__ import annotations

import argparse

import pytest
from conftest import SOFTMAX, request_for

from gpuworker.baselines import command, library
from gpuworker.baselines.registry import BASELINES
from search.records import (
    CaseTiming,
    Environment,
    Evaluation,
    EvaluationStatus,
    Interval,
    Purpose,
    Tier,
    TimingMethod,
)
from search.workload import DType, Tensor, Workload, shipped_workload, shipped_workloads

NOISE = ("UNSTABLE_TIMING", "TIMING_MISMATCH")
WEIGHTED = SOFTMAX.model_copy(
    update={
        "name": "small_rmsnorm",
        "op_type": "rmsnorm",
        "inputs": {**SOFTMAX.inputs, "weight": Tensor(shape=("N",), dtype=DType.FLOAT32)},
        "reference": shipped_workload("rmsnorm").reference,
    }
)


def measured(runner, workload: Workload, *names, tier="fast"):
    answer = runner.ask({"baselines": list(names), "workload": workload.dump(), "tier": tier}, 200.0)
    assert answer["event"] == "compared", answer
    return answer["baselines"]


def timed(found):
    """Of one baseline; a busy machine cannot always time."""
    if found.get("error", "").startswith(NOISE):
        pytest.skip(found["error"])
    return found["cases"]


def test_every_shipped_library_call_belongs_to_a_shipped_workload():
    assert {library.source(one) for one in shipped_workloads().values()} >= set(library.SOURCES.values())


def test_a_workload_whose_reference_is_the_library_call_has_no_other(runner):
    assert "none" in measured(runner, SOFTMAX, "library")["library"]


def test_a_library_call_is_timed_and_kept(runner):
    first = measured(runner, WEIGHTED, "library")["library"]
    (case,) = timed(first)
    assert case == "main"
    assert first["cases"]["main"]["median_us"] > 0
    again = measured(runner, WEIGHTED, "library")["library"]
    assert again["cached"]
    assert again["cases"] == first["cases"]


def test_a_library_call_that_means_something_else_gets_no_time(runner):
    other = WEIGHTED.reference.replace("1e-6", "1.0")
    found = measured(runner, WEIGHTED.model_copy(update={"reference": other}), "library")["library"]
    assert found["error"].startswith("INCORRECT_NUMERICAL"), found


def test_the_reference_compiles_behind_the_walls(runner):
    found = measured(runner, WEIGHTED, "compile")["compile"]
    assert timed(found)["main"]["median_us"] > 0


def test_a_name_that_is_not_known_is_refused():
    assert command.names("eager,library") == ["eager", "library"]
    with pytest.raises(argparse.ArgumentTypeError, match="'cublas' is not among eager, compile, library"):
        command.names("cublas")
    assert [*BASELINES] == ["eager", "compile", "library"]


# What is said -------------------------------------------------------------------------------------


def interval(value):
    return Interval(value=value, low=0.9 * value, high=1.1 * value)


def passed():
    timing = CaseTiming(
        case="main",
        median_us=10.0,
        p10_us=9.0,
        p90_us=11.0,
        samples=5,
        baseline_us=40.0,
        speedup=interval(4.0),
        samples_us=(9.0, 10.0, 10.0, 10.0, 11.0),
    )
    return Evaluation(
        status=EvaluationStatus.PASSED,
        tier=Tier.FAST,
        purpose=Purpose.SEARCH,
        candidate="0" * 64,
        environment=Environment(device_class="cpu", device="a processor", workload="0" * 64),
        cases=(timing,),
        speedup=interval(4.0),
        median_us=10.0,
        baseline="torch eager",
        method=TimingMethod.SLOPE,
    )


class FakeRunner:
    """Answers with one baseline twice as fast as eager torch."""

    def __init__(self, answer):
        self.answer = answer

    def ask(self, document, patience_s):
        return self.answer


def compared(answer):
    return command.compare(FakeRunner(answer), request_for(""), passed(), ["compile"])


def test_speed_ups_over_a_baseline_go_through_eager_torch():
    cases = {"main": {"median_us": 20.0, "speedup": interval(2.0).dump()}}
    answer = {"event": "compared", "baselines": {"compile": {"title": "x", "cases": cases}}}
    found = compared(answer)
    beside = found["baselines"]["compile"]["cases"]["main"]
    assert beside["over_eager"]["value"] == 2.0
    assert beside["candidate_speedup"]["value"] == 2.0
    assert beside["candidate_speedup"]["low"] == pytest.approx(3.6 / 2.2)
    assert found["intervals_us"]["main"]["low"] <= 10.0 <= found["intervals_us"]["main"]["high"]
    assert command.lines(found) == ["  compile, main: 20.0 us, 2.00x (1.64 to 2.44)"]


@pytest.mark.parametrize(
    ("answer", "why"),
    [(None, "died"), ({"event": "refused", "message": "the lease could not be had"}, "lease")],
)
def test_a_device_side_that_fails_is_said(answer, why):
    assert why in compared(answer)["baselines"]["compile"]["error"]
