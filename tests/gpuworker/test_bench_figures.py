"""What `bench` makes of evaluations, and the programs that it judges."""

from __future__ import annotations

import pytest

from gpuworker import bench
from gpuworker.health import canaries
from search.records import (  # fmt: skip
    Environment,
    Evaluation,
    EvaluationStage,
    EvaluationStatus,
    Language,
    Purpose,
    StageEvidence,
    Tier,
)


def ended(status, wall_s, build_s):
    evidence = StageEvidence(stage=EvaluationStage.BUILD, passed=True, seconds=build_s)
    return Evaluation(
        status=status,
        tier=Tier.FAST,
        purpose=Purpose.SEARCH,
        candidate="c",
        environment=Environment(device_class="cpu", device="d", workload="w"),
        stages=(evidence,),
        message="" if status.is_correct else "why",
        wall_seconds=wall_s,
        device_seconds=wall_s / 2,
    )


def test_the_first_evaluation_is_told_apart():
    correct = EvaluationStatus.UNTIMED
    later = [ended(correct, 1.0, 0.1), ended(correct, 2.0, 0.2), ended(EvaluationStatus.HANG, 6.0, 0.9)]
    found = bench.account(ended(correct, 100.0, 50.0), later)
    assert found["first_seconds"] == 100.0
    assert (found["evaluations"], found["passed"]) == (3, 2)
    assert found["seconds"] == 2.0
    assert found["device_seconds"] == 1.0
    assert found["evaluations_per_hour"] == pytest.approx(1200.0)
    assert found["stages_seconds"] == {"build": 0.2}
    assert found["messages"] == ["HANG: why"]


@pytest.mark.parametrize("device", ["cpu", "cuda:0"])
def test_a_note_makes_another_program_of_the_same_meaning(device):
    honest = canaries.for_device(device)[-1].candidate
    one, other = bench.noted(honest, "1"), bench.noted(honest, "2")
    assert len({honest.hash, one.hash, other.hash}) == 3
    added = one.sources[0].content.removeprefix(honest.sources[0].content).strip()
    assert added == ("# 1" if honest.language is Language.TRITON else "// 1")
