"""Pages of workloads; versions are read, never changed. `library_pages.py` has those of action libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from django.db.models import Aggregate, Count, F, Max, Q
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from kernelsite.catalog.highlight import lines
from kernelsite.catalog.models import Version, VersionQuerySet, WorkloadVersion

if TYPE_CHECKING:
    from kernelsite.accounts.middleware import TeamRequest
    from kernelsite.accounts.models import Team
    from search.workload import Case, Workload

_Row = TypeVar("_Row", bound=Version)


@require_GET
def workloads(request: TeamRequest) -> HttpResponse:
    """The newest version of every workload, with what searches brought."""
    rows = WorkloadVersion.objects.visible_to(request.team).newest().annotate(**results(request.team))
    return render(request, "catalog/workloads.html", {"workloads": rows.order_by("slug")})


@require_GET
def workload(request: TeamRequest, slug: str, version: int | None = None) -> HttpResponse:
    """One version; the newest when the address names none."""
    row, versions = version_of(WorkloadVersion.objects.visible_to(request.team), slug, version)
    record = row.record
    context = {
        "workload": row,
        "record": record,
        "versions": versions,
        "reference": lines(record.reference, "python"),
        "cases": [
            (case, record.sizes(case), _shapes(record, case)) for case in record.cases if not case.hidden
        ],
        "hidden_count": sum(case.hidden for case in record.cases),
        "searches": row.searches.filter(team=request.team).order_by("-id")[:20],
    }
    return render(request, "catalog/workload.html", context)


def results(team: Team | None) -> dict[str, Aggregate]:
    """Annotations `search_count` and `best` from the team's searches; what a landscape answered is no record."""
    own = Q(searches__team=team)
    return {
        "search_count": Count("searches", filter=own),
        "best": Max(
            "searches__best_speedup", filter=own & ~Q(searches__device_class__startswith="recorded:")
        ),
    }


def version_of(rows: VersionQuerySet[_Row], slug: str, version: int | None) -> tuple[_Row, list[_Row]]:
    """The version asked for and all there are; a team's own goes before a shipped one of the same number."""
    versions = list(rows.filter(slug=slug).order_by("-version", F("team").asc(nulls_last=True)))
    for row in versions:
        if version in (None, row.version):
            return row, versions
    raise Http404


def _shapes(record: Workload, case: Case) -> list[tuple[str, tuple[int, ...], str]]:
    sizes = record.sizes(case)
    tensors = {**record.inputs, **record.outputs}
    return [(name, record.shape(tensor, sizes), tensor.dtype) for name, tensor in tensors.items()]
