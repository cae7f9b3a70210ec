"""Our evaluations as FlashInfer-Trace results.

Their format has seven statuses and one case per result. Ours says why more finely, and judges a program over all
cases at once: a rejection holds for every case, a pass gives one result per timed case.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.formats.convert import foreign_name, specs_of
from search.formats.format import Notes
from search.formats.reading import validate
from search.formats.schema import SEVEN, Trace
from search.records import EvaluationStatus

if TYPE_CHECKING:
    from pydantic import JsonValue

    from search.records import CaseTiming, Evaluation
    from search.workload import Workload

_S = EvaluationStatus
STATUSES: dict[EvaluationStatus, EvaluationStatus | None] = {
    **{status: status for status in SEVEN},
    _S.CONTRACT_VIOLATION: _S.RUNTIME_ERROR,
    _S.REWARD_HACK: _S.RUNTIME_ERROR,
    _S.OOM: _S.RUNTIME_ERROR,
    _S.ILLEGAL_ACCESS: _S.RUNTIME_ERROR,
    _S.CRASH: _S.RUNTIME_ERROR,
    _S.INPUT_MUTATED: _S.RUNTIME_ERROR,
    _S.OUT_OF_BOUNDS: _S.RUNTIME_ERROR,
    _S.TIMING_MISMATCH: _S.RUNTIME_ERROR,
    _S.HANG: _S.TIMEOUT,
    _S.NONFINITE: _S.INCORRECT_NUMERICAL,
    _S.NONDETERMINISTIC: _S.INCORRECT_NUMERICAL,
    _S.UNSTABLE_TIMING: _S.PASSED,
    # Nothing that this format could say of the program is true: no time was had, or it was not the program's fault.
    _S.UNTIMED: None,
    _S.INVALID_REFERENCE: None,
    _S.INFRA_ERROR: None,
}
"""What each of our statuses is among their seven; None is not exported."""


def traces_of(evaluation: Evaluation, workload: Workload, solution: str, timestamp: str) -> list[Trace]:
    """Results of one evaluation, for the cases that are not hidden.

    Args:
        evaluation: the judge's answer.
        workload: the version it was made on.
        solution: name of the exported program.
        timestamp: when it ended, ISO 8601.

    Returns:
        Nothing for a status that the format cannot tell, or a pass without a time.
    """
    status = STATUSES[evaluation.status]
    if status is None:
        return []
    timed = {timing.case: timing for timing in evaluation.cases}
    shown = [case.name for case in workload.cases if not case.hidden]
    traces = []
    for name, spec in zip(shown, specs_of(workload, Notes()), strict=True):
        result = _result(evaluation, status, timed.get(name), timestamp)
        if result is None:
            continue
        document: dict[str, JsonValue] = {
            "definition": foreign_name(workload),
            "workload": spec.document(),
            "solution": solution,
            "evaluation": result,
        }
        traces.append(validate(Trace, document, f"{solution} on {name}"))
    return traces


def _result(
    evaluation: Evaluation, status: EvaluationStatus, timing: CaseTiming | None, timestamp: str
) -> dict[str, JsonValue] | None:
    if status is EvaluationStatus.PASSED and timing is None:
        return None
    where = evaluation.environment
    libs = {"kernelsite_harness": where.harness, "runtime": where.runtime, "driver": where.driver}
    result: dict[str, JsonValue] = {
        "status": status,
        "environment": {
            "hardware": where.device,
            "libs": {name: text for name, text in libs.items() if text},
        },
        "timestamp": timestamp,
        "log": _log(evaluation),
    }
    if status in (EvaluationStatus.PASSED, EvaluationStatus.INCORRECT_NUMERICAL):
        # Our judge compares against a bound and keeps no largest error; the format has a word for no number.
        result["correctness"] = {"max_relative_error": "NaN", "max_absolute_error": "NaN"}
    if timing is not None and status is EvaluationStatus.PASSED:
        result["performance"] = {
            "latency_ms": timing.median_us / 1000,
            "reference_latency_ms": timing.baseline_us / 1000,
            "speedup_factor": timing.speedup.value,
        }
    return result


def _log(evaluation: Evaluation) -> str:
    """Our own status first where theirs is coarser."""
    told = evaluation.message
    if STATUSES[evaluation.status] is not evaluation.status:
        told = f"{evaluation.status}: {told}" if told else str(evaluation.status)
    return "\n".join(part for part in (told, evaluation.log) if part)
