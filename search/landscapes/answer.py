"""The device class `recorded:<name>`: a pure function from landscape and request to an evaluation.

A program that was never measured is answered by `INFRA_ERROR`, which says nothing about the program and is
free of charge; nothing is interpolated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.landscapes.files import PREFIX, LandscapeError, landscape_of
from search.records import (
    CaseTiming,
    Environment,
    Evaluation,
    EvaluationRequest,
    EvaluationStage,
    EvaluationStatus,
    Interval,
    StageEvidence,
    TimingMethod,
    content_hash,
)
from search.workload import Workload

if TYPE_CHECKING:
    from typing import Any

    from search.landscapes.landscape import Landscape

NOT_RECORDED = "not recorded"
"""How the message of an unanswered request begins."""


def answer(landscape: Landscape, request: EvaluationRequest, seed: int = 0) -> Evaluation:
    """Answer from the recorded evaluations of the request's program.

    Args:
        landscape: where to look.
        request: of this landscape's workload; its contract was checked when the landscape was recorded.
        seed: chooses one of the recorded repeats, together with program, tier and purpose.
    """
    if content_hash(request.workload) != landscape.workload_hash:
        return _unknown(landscape, request, "the landscape is of another version of the workload")
    rows = landscape.rows_of(request.candidate)
    if not rows:
        return _unknown(landscape, request, "this source with these knob values was never measured")
    draw = content_hash([seed, request.candidate.hash, request.tier.value, request.purpose.value])
    return _from_row(landscape, request, rows[int(draw[:8], 16) % len(rows)])


def answer_by_name(request: EvaluationRequest, seed: int = 0) -> Evaluation:
    """Answer from the landscape that the request's device class names.

    Raises:
        LandscapeError: the device class is not `recorded:<name>`, or there is no such landscape.
    """
    if not request.device_class.startswith(PREFIX):
        raise LandscapeError(f"{request.device_class} is not recorded")
    return answer(landscape_of(request.device_class, Workload.load(request.workload)), request, seed)


def _from_row(landscape: Landscape, request: EvaluationRequest, row: int) -> Evaluation:
    table = landscape.measurements
    message = table.message[row]
    seconds = table.device_seconds[row]
    return Evaluation(
        status=table.status[row],
        stages=_stages(landscape, row, seconds),
        message=landscape.messages[message] if message >= 0 else "",
        device_seconds=seconds,
        **_shared(landscape, request),
        **_times(landscape, row),
    )


def _stages(landscape: Landscape, row: int, seconds: float) -> tuple[StageEvidence, ...]:
    """The build where it was reached, and what the answer is from."""
    passed = landscape.measurements.status[row] is EvaluationStatus.PASSED
    if not landscape.measurements.charged[row]:
        return (
            StageEvidence(stage=EvaluationStage.STATIC, passed=False, seconds=0.0, message=landscape.label),
        )
    built = StageEvidence(stage=EvaluationStage.BUILD, passed=True, seconds=seconds, message=landscape.label)
    timing = EvaluationStage.TIMING
    return (built, StageEvidence(stage=timing, passed=passed, seconds=0.0, message=landscape.label))


def _times(landscape: Landscape, row: int) -> dict[str, Any]:
    table = landscape.measurements
    value, low, high = table.speedup[row], table.low[row], table.high[row]
    if value is None or low is None or high is None:
        return {}
    speedup = Interval(value=value, low=low, high=high)
    case = {"median_us": "median_us", "p10_us": "p10_us", "p90_us": "p90_us", "samples": "samples"}
    times = {name: getattr(table, column)[row] for name, column in case.items()}
    timing = CaseTiming(
        case=landscape.case, baseline_us=table.baseline_us[row] or 0.0, speedup=speedup, **times
    )
    return {
        "cases": (timing,),
        "speedup": speedup,
        "median_us": table.median_us[row],
        "baseline": f"{landscape.baseline}, {landscape.label}",
        "method": TimingMethod.RECORDED,
    }


def _unknown(landscape: Landscape, request: EvaluationRequest, why: str) -> Evaluation:
    return Evaluation(
        status=EvaluationStatus.INFRA_ERROR,
        message=f"{NOT_RECORDED} in {landscape.name}: {why}",
        **_shared(landscape, request),
    )


def _shared(landscape: Landscape, request: EvaluationRequest) -> dict[str, Any]:
    """What every answer says: whose it is, and where its numbers come from."""
    recorded = landscape.environment
    environment = Environment(
        device_class=request.device_class,
        device=recorded.device,
        driver=recorded.driver,
        runtime=recorded.runtime,
        harness=recorded.harness,
        policy=f"{landscape.label}, {recorded.policy}",
        workload=landscape.workload_hash,
    )
    return {
        "tier": request.tier,
        "purpose": request.purpose,
        "candidate": request.candidate.hash,
        "environment": environment,
    }
