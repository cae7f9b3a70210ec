"""What the judge saw of a program, in words: the status, broken clauses, each case against its floor, resources.

It is the evidence that a repair or a refinement works with, not the raw log: messages are capped and fenced, and
hidden cases are not named.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from search.agents.llm.fencing import fence, one_line
from search.agents.llm.render_contract import verdicts_text
from search.agents.llm.render_workload import without_hidden
from search.agents.llm.wording import number
from search.records import EvaluationStage, EvaluationStatus

if TYPE_CHECKING:
    from collections.abc import Iterable

    from search.records import CaseTiming, Evaluation
    from search.workload import Workload

MESSAGE_CAP = 1500
LOG_CAP = 2500
_HINTS: dict[EvaluationStatus, str] = {
    EvaluationStatus.COMPILE_ERROR: "It does not compile, or breaks a rule of the form.",
    EvaluationStatus.RUNTIME_ERROR: "It stopped with an error.",
    EvaluationStatus.CONTRACT_VIOLATION: "It is another structure than was asked for.",
    EvaluationStatus.INCORRECT_NUMERICAL: "Its results are wrong.",
    EvaluationStatus.NONFINITE: "Its results hold NaN or infinity where the reference has none.",
    EvaluationStatus.NONDETERMINISTIC: "Two runs on the same values gave different bits.",
    EvaluationStatus.ILLEGAL_ACCESS: "It read or wrote memory that is not its own: look at masks and ragged ends.",
    EvaluationStatus.OUT_OF_BOUNDS: "It wrote outside of its outputs: look at masks and ragged ends.",
    EvaluationStatus.INPUT_MUTATED: "It wrote to an input.",
    EvaluationStatus.OOM: "It asked for more memory than there is: registers, shared memory or scratch.",
    EvaluationStatus.HANG: "It did not end.",
    EvaluationStatus.TIMEOUT: "It was far too slow, or did not end.",
    EvaluationStatus.REWARD_HACK: "It was caught doing something other than the computation that was asked for.",
}
_RESOURCES = re.compile(r"reg|spill|shared|local|smem|warps|occupancy|stack", re.IGNORECASE)
_MOST_FACTS = 24


def evidence_text(evaluation: Evaluation, workload: Workload) -> str:
    """Status, what broke, times and resources of one evaluation, fenced."""
    parts = [_status(evaluation)]
    if evaluation.message:
        parts.append(fence(without_hidden(evaluation.message, workload), "what the judge says", MESSAGE_CAP))
    if verdicts := verdicts_text(evaluation.verdicts):
        parts.append(fence(verdicts, "clauses of the contract", MESSAGE_CAP))
    if evaluation.log and evaluation.status is not EvaluationStatus.PASSED:
        parts.append(fence(without_hidden(evaluation.log, workload), "end of the log", LOG_CAP))
    if times := times_text(evaluation.cases, workload):
        parts.append(times)
    if facts := resources_text(evaluation):
        parts.append(fence(facts, "resources", MESSAGE_CAP))
    return "\n".join(parts)


def times_text(cases: Iterable[CaseTiming], workload: Workload) -> str:
    """One line per timed case that is not hidden: time, baseline, floor."""
    hidden = {case.name for case in workload.cases if case.hidden}
    return "\n".join(_time(case) for case in cases if case.case not in hidden)


def resources_text(evaluation: Evaluation) -> str:
    """Registers, spills, shared memory and the like, as the build and promotion stages noted them."""
    stages = {EvaluationStage.BUILD, EvaluationStage.PROMOTION}
    found = [
        f"- {name}: {value}"
        for stage in evaluation.stages
        if stage.stage in stages
        for name, value in _flat(stage.details)
        if _RESOURCES.search(name)
    ]
    return "\n".join(found[:_MOST_FACTS])


def _status(evaluation: Evaluation) -> str:
    hint = _HINTS.get(evaluation.status, "")
    failed = next((stage.stage for stage in evaluation.stages if not stage.passed), None)
    where = f" at stage {failed}" if failed and evaluation.status is not EvaluationStatus.PASSED else ""
    speed = evaluation.speedup
    gain = f", {speed.value:.3g}x the baseline ({speed.low:.3g} to {speed.high:.3g})" if speed else ""
    return f"Status: {evaluation.status}{where}{gain}. {hint}".rstrip()


def _time(case: CaseTiming) -> str:
    floor = (
        f", floor {number(case.floor_us)} us ({100 * case.floor_us / case.median_us:.0f} % of its speed)"
        if case.floor_us
        else ""
    )
    return (
        f"- {case.case}: {number(case.median_us)} us ({number(case.p10_us)} to {number(case.p90_us)}),"
        f" baseline {number(case.baseline_us)} us{floor}"
    )


def _flat(details: Any, name: str = "") -> list[tuple[str, str]]:
    """Numbers and words of nested details, with the way to them as name."""
    match details:
        case dict():
            return [pair for key, value in details.items() for pair in _flat(value, f"{name} {key}".strip())]
        case list():
            return [pair for at, value in enumerate(details) for pair in _flat(value, f"{name} {at}".strip())]
        case bool() | int() | float() | str():
            return [(one_line(name, 80), one_line(str(details), 80))]
    return []
