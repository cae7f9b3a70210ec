"""Records: strict, frozen, JSON without NaN; illegal states do not construct."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from search.records import (
    Candidate,
    CaseTiming,
    Clause,
    ClauseKind,
    Contract,
    Environment,
    Evaluation,
    EvaluationRequest,
    EvaluationStage,
    EvaluationStatus,
    Interval,
    Knob,
    Language,
    Purpose,
    SearchState,
    SourceFile,
    StageEvidence,
    Tier,
    TimingMethod,
    content_hash,
    device_queue,
)
from search.settings import Budget

ENVIRONMENT = Environment(device_class="cpu", device="test processor", workload="w" * 64)
SPEEDUP = Interval(value=2.0, low=1.9, high=2.1)
CASE = CaseTiming(
    case="main", median_us=5.0, p10_us=4.0, p90_us=6.0, samples=9, baseline_us=10.0, speedup=SPEEDUP
)


def evaluation(**changes) -> Evaluation:
    fields = {
        "status": EvaluationStatus.PASSED,
        "tier": Tier.FAST,
        "purpose": Purpose.SEARCH,
        "candidate": "c" * 64,
        "environment": ENVIRONMENT,
        "cases": (CASE,),
        "speedup": SPEEDUP,
        "median_us": 5.0,
        "baseline": "torch eager",
        "method": TimingMethod.SLOPE,
    }
    return Evaluation(**fields | changes)


def candidate(**changes) -> Candidate:
    fields = {"language": Language.CPP, "sources": (SourceFile(path="kernel.cpp", content="int x;"),)}
    return Candidate(**fields | changes)


def test_an_evaluation_round_trips():
    record = evaluation(stages=(StageEvidence(stage=EvaluationStage.BUILD, passed=True, seconds=0.5),))
    assert Evaluation.load(json.loads(json.dumps(record.dump(), allow_nan=False))) == record


def test_a_request_round_trips():
    contract = Contract(structure="s", clauses=(Clause(kind=ClauseKind.KERNELS, value=["a", "b"]),))
    request = EvaluationRequest(
        id="1",
        token="t",
        workload={"name": "w"},
        candidate=candidate(),
        contract=contract,
        device_class="cpu",
    )
    assert EvaluationRequest.load(request.dump()) == request


@pytest.mark.parametrize(
    "changes",
    [
        {"cases": (), "speedup": None, "median_us": None},
        {"method": None},
        {"baseline": ""},
        {"status": EvaluationStatus.INCORRECT_NUMERICAL},
        {"status": EvaluationStatus.UNTIMED},
        {"median_us": -1.0},
        {"median_us": math.nan},
        {"device_seconds": math.inf},
    ],
)
def test_a_time_without_a_pass_or_a_pass_without_a_time_does_not_construct(changes):
    with pytest.raises(ValidationError):
        evaluation(**changes)


def test_charged_from_the_build_on_and_never_for_infrastructure():
    build = (StageEvidence(stage=EvaluationStage.BUILD, passed=True, seconds=0.1),)
    intake = (StageEvidence(stage=EvaluationStage.INTAKE, passed=False, seconds=0.1),)
    untimed = {"cases": (), "speedup": None, "median_us": None, "baseline": "", "method": None}
    assert evaluation(stages=build).charged
    assert not evaluation(stages=intake, status=EvaluationStatus.COMPILE_ERROR, **untimed).charged
    assert not evaluation(stages=build, status=EvaluationStatus.INFRA_ERROR, **untimed).charged


def test_records_are_frozen_strict_and_closed():
    record = candidate()
    with pytest.raises(ValidationError):
        record.language = Language.TRITON
    with pytest.raises(ValidationError):
        candidate(colour="red")
    with pytest.raises(ValidationError):
        Budget(evaluations="12")


@pytest.mark.parametrize(("low", "value", "high"), [(2.0, 1.0, 3.0), (1.0, 4.0, 3.0), (math.nan, 1.0, 2.0)])
def test_an_interval_is_ordered(low, value, high):
    with pytest.raises(ValidationError):
        Interval(value=value, low=low, high=high)


def test_a_knob_has_a_domain_that_holds_its_default():
    with pytest.raises(ValidationError):
        Knob(name="BLOCK", choices=(), default=1)
    with pytest.raises(ValidationError, match="default 3"):
        Knob(name="BLOCK", choices=(1, 2), default=3)
    with pytest.raises(ValidationError):
        Knob(name="block", choices=(1,), default=1)


@pytest.mark.parametrize("path", ["../x", "/etc/x", "", "a b"])
def test_a_source_path_stays_inside(path):
    with pytest.raises(ValidationError):
        SourceFile(path=path, content="")


def test_knob_values_are_part_of_a_candidate_but_not_of_its_source():
    plain, tuned = candidate(), candidate(knobs={"BLOCK": 64})
    assert plain.source_hash == tuned.source_hash
    assert plain.hash != tuned.hash
    assert candidate(knobs={"A": 1, "B": 2}).hash == candidate(knobs={"B": 2, "A": 1}).hash


@given(st.dictionaries(st.text(max_size=5), st.integers() | st.booleans() | st.text(max_size=5), max_size=5))
def test_a_content_hash_does_not_depend_on_key_order(document):
    assert content_hash(document) == content_hash(dict(reversed(document.items())))


def test_a_content_hash_refuses_nan():
    with pytest.raises(ValueError, match="not JSON compliant"):
        content_hash({"a": math.nan})


@pytest.mark.parametrize(
    ("device_class", "queue"),
    [("cpu", "cpu"), ("recorded:h200", "recorded"), ("h200", "gpu.h200")],
)
def test_device_queues(device_class, queue):
    assert device_queue(device_class) == queue


def test_final_states():
    assert {state for state in SearchState if state.is_final} == {
        SearchState.STOPPED,
        SearchState.FINISHED,
        SearchState.FAILED,
    }


def test_a_clause_reads_as_one_line():
    assert Clause(kind=ClauseKind.REDUCTION, subject="N", value="online").text == "reduction(N) = online"
    assert Clause(kind=ClauseKind.KERNELS, value=["a"]).text == 'kernels = ["a"]'
