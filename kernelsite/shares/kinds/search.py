"""A search: its best, its curve, and by scope its tree, the best program and what models were asked for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils import timezone

from kernelsite.compare.runs import runs_of
from kernelsite.searches.evidence import record_of
from kernelsite.searches.keys import read_key
from kernelsite.searches.models import Search
from kernelsite.searches.outline import outline
from kernelsite.searches.rows import structure_row
from kernelsite.shares import parts
from kernelsite.shares.document import Counts, Result
from kernelsite.shares.kinds.kind import Kind

if TYPE_CHECKING:
    from kernelsite.shares.document import Branch, Scope


def _find(team: int, pk: int) -> Search | None:
    return Search.objects.filter(team=team, pk=pk).select_related("workload").first()


def _suggest(row: Search) -> str:
    device = parts.device_of(parts.best_of(row, row.best_candidate))
    return f"{row.workload.title} on {device}" if device else row.workload.title


def _result(row: Search, title: str, scope: Scope) -> Result:
    best = parts.best_of(row, row.best_candidate)
    candidate = best.candidate if best else None
    calls, left_out = parts.transcript_of(candidate.structure if candidate and scope.transcript else None)
    run = runs_of([row])[row.pk]
    return Result(
        kind="search",
        title=title,
        taken_at=timezone.now().isoformat(timespec="seconds"),
        began=parts.day(row.started_at or row.created_at),
        ended=parts.day(row.finished_at),
        is_over=row.is_final,
        device=parts.device_of(best),
        language=parts.language_of(row),
        workload=parts.workload_of(row),
        headline=parts.headline_of(best, is_confirmed=row.best_confirmed),
        counts=counts_of([row]),
        lines=(parts.line_of(run, "best so far", 0),) if run.records else (),
        cases=parts.cases_of(record_of(best), row.workload.record),
        tree=_tree(row) if scope.tree else (),
        code=parts.code_of(candidate) if scope.code else (),
        knobs=parts.knobs_of(candidate) if scope.code else {},
        transcript=calls,
        transcript_left_out=left_out,
        method=parts.method_of(best),
    )


def counts_of(rows: list[Search]) -> Counts:
    """How much searches have tried together."""
    return Counts(
        searches=len(rows),
        evaluations=sum(row.evaluations_spent for row in rows),
        passed=sum(row.passed_count for row in rows),
        failed=sum(row.failed_count for row in rows),
        structures=sum(row.structure_count for row in rows),
    )


def _tree(row: Search) -> tuple[Branch, ...]:
    structures = list(row.structures.order_by("number"))
    numbers = {each.pk: each.number for each in structures}
    rows = [structure_row(each, parent=numbers.get(each.parent_id or 0)) for each in structures]
    place = read_key(row.best_candidate)
    return parts.tree_of(outline(rows), place.structure if place else 0)


KIND = Kind(
    word="search",
    find=_find,
    name=lambda row: row.short,
    address=Search.get_absolute_url,
    suggest=_suggest,
    version=lambda row: f"{row.epoch}.{row.event_seq}",
    result=_result,
)
