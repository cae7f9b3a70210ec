"""One structure of a search: its best candidate, its tuning curve, and by scope its lineage, program and transcript."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Count, Q
from django.utils import timezone

from kernelsite.searches.evidence import record_of
from kernelsite.searches.models import Evaluation, Structure
from kernelsite.searches.pages.lineage import lineage
from kernelsite.shares import parts
from kernelsite.shares.document import Branch, Counts, Line, Result
from kernelsite.shares.kinds.kind import Kind
from search.records import EvaluationStatus

if TYPE_CHECKING:
    from kernelsite.shares.document import Scope


def _find(team: int, pk: int) -> Structure | None:
    rows = Structure.objects.filter(search__team=team, pk=pk)
    return rows.select_related("search__workload").first()


def _suggest(row: Structure) -> str:
    device = parts.device_of(parts.best_of(row.search, row.best_candidate))
    return f"{row.search.workload.title} on {device}" if device else row.search.workload.title


def _result(row: Structure, title: str, scope: Scope) -> Result:
    search = row.search
    best = parts.best_of(search, row.best_candidate)
    candidate = best.candidate if best else None
    calls, left_out = parts.transcript_of(row if scope.transcript else None)
    line = line_of(row)
    return Result(
        kind="structure",
        title=title,
        taken_at=timezone.now().isoformat(timespec="seconds"),
        began=parts.day(search.started_at or search.created_at),
        ended=parts.day(search.finished_at),
        is_over=search.is_final,
        device=parts.device_of(best),
        language=parts.language_of(search),
        workload=parts.workload_of(search),
        headline=parts.headline_of(best, is_confirmed=best is not None and best.purpose == "confirm"),
        counts=counts_of(row),
        lines=(line,) if line.records else (),
        axis="evaluations of this structure",
        cases=parts.cases_of(record_of(best), search.workload.record),
        tree=lineage_of(row) if scope.tree else (),
        code=parts.code_of(candidate) if scope.code else (),
        knobs=parts.knobs_of(candidate) if scope.code else {},
        transcript=calls,
        transcript_left_out=left_out,
        method=parts.method_of(best),
    )


def counts_of(row: Structure) -> Counts:
    """How much was tried of it."""
    rows = Evaluation.objects.filter(candidate__structure=row, order__isnull=False)
    found = rows.aggregate(all=Count("id"), passed=Count("id", filter=Q(status=EvaluationStatus.PASSED)))
    return Counts(
        evaluations=found["all"], passed=found["passed"], failed=found["all"] - found["passed"], structures=1
    )


def line_of(row: Structure) -> Line:
    """Best so far against the structure's own evaluations."""
    rows = Evaluation.objects.filter(candidate__structure=row, order__isnull=False).order_by("order")
    records: list[tuple[float, float]] = []
    end = 0
    for end, (status, speedup) in enumerate(rows.values_list("status", "speedup"), start=1):
        if status != EvaluationStatus.PASSED or speedup is None:
            continue
        if not records or speedup > records[-1][1]:
            records.append((float(end), speedup))
    return Line(name="best so far", hue=0, records=tuple(records), end=float(end))


def lineage_of(row: Structure) -> tuple[Branch, ...]:
    """From the direct implementation down to it."""
    own = [(each.row.pk, each.name) for each in lineage(row)]
    best = dict(Structure.objects.filter(pk__in=[pk for pk, _ in own]).values_list("pk", "best_speedup"))
    return tuple(
        Branch(depth=depth, name=name.replace("_", " ")[:300], speedup=best.get(pk), is_best=pk == row.pk)
        for depth, (pk, name) in enumerate(own)
    )


KIND = Kind(
    word="structure",
    find=_find,
    name=lambda row: f"ST-{row.key}",
    address=Structure.get_absolute_url,
    suggest=_suggest,
    version=lambda row: f"{row.search.epoch}.{row.evaluation_count}.{row.best_candidate}.{row.status}",
    result=_result,
)
