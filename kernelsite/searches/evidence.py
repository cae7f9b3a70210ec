"""What the judge saw, made fit for pages: the record itself, clause verdicts, stages, cases, compiled kernels."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

from pydantic import ValidationError

from kernelsite.catalog.plain import visible
from search.records import Clause, Contract, EvaluationStage, StageEvidence
from search.records import Evaluation as Record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelsite.searches.models import Evaluation
    from search.workload import Case, Workload

DETAIL_LIMIT = 2_000
"""Longest detail shown, in characters; the whole is in the downloaded evaluation."""
SHOWN_ELSEWHERE = {"kernels", "cases", "passes_us"}
"""Details that have a table of their own."""


def record_of(evaluation: Evaluation | None) -> Record | None:
    """The judge's answer; None when there is none, or none that this version can read."""
    try:
        return evaluation.record if evaluation else None
    except (ValidationError, ValueError):
        # Kept by another version, or damaged: the page still shows everything else.
        return None


class ClauseRow(TypedDict):
    """A clause and what the judge said of it."""

    clause: Clause
    verdict: str
    evidence: str
    line: int | None


def clauses(contract: Contract, record: Record | None) -> list[ClauseRow]:
    """Every clause of a contract with the verdict of one evaluation; `not checked` where there is none."""
    found = {verdict.clause.text: verdict for verdict in record.verdicts} if record else {}
    rows: list[ClauseRow] = []
    for clause in contract.clauses:
        verdict = found.get(clause.text)
        rows.append(
            {
                "clause": clause,
                "verdict": verdict.verdict if verdict else "not checked",
                "evidence": verdict.evidence if verdict else "",
                "line": verdict.line if verdict else None,
            }
        )
    return rows


@dataclass(frozen=True)
class StageRow:
    """A stage of the evaluation; `evidence` is None when it was not reached."""

    name: str
    evidence: StageEvidence | None
    details: tuple[tuple[str, str], ...]
    """Names and values as limited text."""


def stages(record: Record) -> list[StageRow]:
    """Every stage in order, reached or not; a stage that ran once per case has a row for each."""
    rows = []
    for stage in EvaluationStage:
        seen = [evidence for evidence in record.stages if evidence.stage is stage]
        rows += [StageRow(stage, evidence, _details(evidence.details)) for evidence in seen]
        if not seen and stage is not EvaluationStage.PROMOTION:
            rows.append(StageRow(stage, None, ()))
    return rows


def _details(details: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Details that no other part of the page shows."""
    return tuple(
        (name, _limited(value)) for name, value in details.items() if name not in ("kernels", "cases")
    )


def _limited(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = visible(text[: DETAIL_LIMIT + 1])
    return text if len(text) <= DETAIL_LIMIT else text[:DETAIL_LIMIT] + "\N{HORIZONTAL ELLIPSIS}"


@dataclass(frozen=True)
class OutputError:
    """Largest error of one output over the calls of a case."""

    name: str
    max_abs: float | None
    max_rel: float | None
    used: float | None
    """Largest share of the allowed error, 0 to 1."""


@dataclass(frozen=True)
class CaseRow:
    """A case that is not hidden, with what the judge found."""

    case: Case
    sizes: str
    verdict: str
    """`pass`, `failed` or `not checked`."""
    calls: int | None
    outputs: tuple[OutputError, ...]
    tolerance: str


def case_rows(record: Record | None, workload: Workload) -> list[CaseRow]:
    """Every case that is not hidden. A failed stage names no case that passed, so none is called right then."""
    stage = _stage(record, EvaluationStage.CORRECTNESS)
    told = {str(one.get("case")): one for one in _list(stage, "cases")}
    verdict = "not checked" if stage is None else "pass" if stage.passed else "failed"
    return [
        _case_row(case, workload, verdict, told.get(case.name, {}))
        for case in workload.cases
        if not case.hidden
    ]


def _case_row(case: Case, workload: Workload, verdict: str, told: Mapping[str, Any]) -> CaseRow:
    if verdict == "failed":
        verdict = "pass" if told.get("passed") else "not told"
    outputs = told.get("outputs")
    errors = outputs if isinstance(outputs, dict) else {}
    calls = told.get("calls")
    return CaseRow(
        case=case,
        sizes=" ".join(f"{name}={size}" for name, size in case.axes.items()),
        verdict=verdict,
        calls=calls if isinstance(calls, int) else None,
        outputs=tuple(_output(name, error) for name, error in errors.items() if isinstance(error, dict)),
        tolerance=_tolerance(case, workload),
    )


def _output(name: str, error: Mapping[str, Any]) -> OutputError:
    values = {key: error.get(key) for key in ("max_abs", "max_rel", "used")}
    numbers = {key: value if isinstance(value, int | float) else None for key, value in values.items()}
    return OutputError(name=name, **numbers)


def _tolerance(case: Case, workload: Workload) -> str:
    if own := case.tolerance:
        return f"|error| ≤ {own.max_atol:g} + {own.max_rtol:g} · |reference|"
    bound = workload.tolerance
    return f"|error| ≤ {bound.scale:g} · eps · RMS of the row + {bound.relative:g} · |reference|"


@dataclass(frozen=True)
class Rightness:
    """How many cases were right, for the result sentence."""

    shown: int
    hidden: int
    calls: int | None


def rightness(record: Record | None, workload: Workload) -> Rightness | None:
    """All cases of the workload, once the correctness stage has passed; None before, and where nothing was run."""
    stage = _stage(record, EvaluationStage.CORRECTNESS)
    if stage is None or not stage.passed:
        return None
    hidden = sum(case.hidden for case in workload.cases)
    counts = [stage.details.get(name) for name in ("calls", "hidden_calls")]
    calls = sum(count for count in counts if isinstance(count, int))
    return Rightness(len(workload.cases) - hidden, hidden, calls or None)


def kernels(record: Record | None) -> list[dict[str, Any]]:
    """What each compiled kernel takes of a GPU, as the build stage noted it; empty where it noted nothing."""
    return _list(_stage(record, EvaluationStage.BUILD), "kernels")


def _stage(record: Record | None, wanted: EvaluationStage) -> StageEvidence | None:
    return next((stage for stage in record.stages if stage.stage is wanted), None) if record else None


def _list(stage: StageEvidence | None, name: str) -> list[dict[str, Any]]:
    """A list of objects among a stage's details; anything else there is no list."""
    found = stage.details.get(name) if stage else None
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
