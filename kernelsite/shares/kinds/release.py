"""An approved kernel as it was approved. Who proposed and who approved it stays with the team."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils import timezone

from kernelsite.reviews.models import Release
from kernelsite.reviews.release_pages import is_intact
from kernelsite.searches.evidence import record_of
from kernelsite.shares import parts
from kernelsite.shares.document import Fact, Headline, Result
from kernelsite.shares.kinds.kind import Kind
from kernelsite.shares.kinds.structure import counts_of, line_of, lineage_of

if TYPE_CHECKING:
    from kernelsite.shares.document import Scope


def _find(team: int, pk: int) -> Release | None:
    return Release.objects.filter(team=team, pk=pk).with_facts().first()


def _result(row: Release, title: str, scope: Scope) -> Result:
    candidate, record = row.candidate, record_of(row.evaluation)
    search, structure = candidate.search, candidate.structure
    shown = candidate if scope.code and is_intact(row) else None
    calls, left_out = parts.transcript_of(structure if scope.transcript else None)
    line = line_of(structure)
    return Result(
        kind="release",
        title=title,
        taken_at=timezone.now().isoformat(timespec="seconds"),
        began=parts.day(row.released_at),
        ended=parts.day(row.released_at),
        is_over=True,
        device=row.device,
        language=parts.language_of(search),
        workload=parts.workload_of(search),
        headline=Headline(
            speedup=row.speedup,
            low=row.low,
            high=row.high,
            median_us=row.median_us,
            baseline=row.baseline,
            is_confirmed=True,
            cases=len(record.cases) if record else 0,
            samples=sum(case.samples for case in record.cases) if record else 0,
        ),
        counts=counts_of(structure),
        lines=(line,) if line.records else (),
        axis="evaluations of this structure",
        cases=parts.cases_of(record, search.workload.record),
        tree=lineage_of(structure) if scope.tree else (),
        code=parts.code_of(shown),
        knobs=parts.knobs_of(shown),
        transcript=calls,
        transcript_left_out=left_out,
        method=(*parts.method_of(row.evaluation), *_approval(row)),
    )


def _approval(row: Release) -> tuple[Fact, ...]:
    people = len(row.approved_by)
    approved = (
        "by its proposer alone, in a team of one"
        if row.is_solo
        else f"by {people} reviewer{'s' * (people > 1)}"
    )
    facts = {"Approved": approved, "License": row.license, "Content hash": row.content_hash}
    return tuple(Fact(name=name, value=value) for name, value in facts.items() if value)


KIND = Kind(
    word="release",
    find=_find,
    name=lambda row: row.short,
    address=Release.get_absolute_url,
    suggest=lambda row: f"{row.workload.title} on {row.device}",
    version=lambda row: f"{row.pk}.{row.evaluation_id}",
    result=_result,
)
