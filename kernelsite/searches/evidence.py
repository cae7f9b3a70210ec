"""What the judge saw, made fit for pages: clause verdicts, stages, timings with their samples as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from search.records import CaseTiming, Clause, Contract, EvaluationStage, StageEvidence
from search.records import Evaluation as Record

if TYPE_CHECKING:
    from kernelsite.searches.models import Evaluation

BINS = 40
STRIP_HEIGHT = 40


class ClauseRow(TypedDict):
    """A clause and what the judge said of it."""

    clause: Clause
    verdict: str
    evidence: str
    line: int | None


def clauses(contract: Contract, evaluation: Evaluation | None) -> list[ClauseRow]:
    """Every clause of a contract with the verdict of one evaluation; `not checked` where there is none."""
    record = evaluation.record if evaluation else None
    found = {verdict.clause.text: verdict for verdict in record.verdicts} if record else {}
    rows: list[ClauseRow] = []
    for clause in contract.clauses:
        verdict = found.get(clause.text)
        if verdict is None:
            rows.append({"clause": clause, "verdict": "not checked", "evidence": "", "line": None})
        else:
            rows.append(
                {
                    "clause": clause,
                    "verdict": verdict.verdict,
                    "evidence": verdict.evidence,
                    "line": verdict.line,
                }
            )
    return rows


class StageRow(TypedDict):
    """A stage of the evaluation; `evidence` is None when it was not reached."""

    name: str
    evidence: StageEvidence | None


def stages(record: Record) -> list[StageRow]:
    """Every stage in order, reached or not."""
    seen = {evidence.stage: evidence for evidence in record.stages}
    shown = [stage for stage in EvaluationStage if stage in seen or stage is not EvaluationStage.PROMOTION]
    return [{"name": stage, "evidence": seen.get(stage)} for stage in shown]


class Bar(TypedDict):
    """One bar of a histogram, in per mille of the width and units of the strip's height."""

    x: float
    y: float
    height: float


class TimingRow(TypedDict):
    """A case with its histogram."""

    case: CaseTiming
    bars: list[Bar]
    median_x: float
    low_us: float
    high_us: float


def timings(record: Record) -> list[TimingRow]:
    """Every timed case."""
    return [_timing_row(case) for case in record.cases]


def _timing_row(case: CaseTiming) -> TimingRow:
    samples = case.samples_us or (case.p10_us, case.median_us, case.p90_us)
    low, high = min(samples), max(samples)
    width = (high - low) or 1.0
    counts = [0] * BINS
    for sample in samples:
        counts[min(BINS - 1, int((sample - low) / width * BINS))] += 1
    top = max(counts)
    bars: list[Bar] = [
        {
            "x": index * 1000 / BINS,
            "y": STRIP_HEIGHT * (1 - count / top),
            "height": STRIP_HEIGHT * count / top,
        }
        for index, count in enumerate(counts)
        if count
    ]
    median_x = min(1000.0, max(0.0, (case.median_us - low) / width * 1000))
    return {"case": case, "bars": bars, "median_x": median_x, "low_us": low, "high_us": high}
