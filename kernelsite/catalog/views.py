"""Pages of workloads and action libraries; versions are read, never changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from django.db.models import Aggregate, Count, F, Max, Q
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from kernelsite.catalog.highlight import lines
from kernelsite.catalog.models import LibraryVersion, Version, VersionQuerySet, WorkloadVersion
from search.actions import Action, ActionFamily, ActionLibrary

if TYPE_CHECKING:
    from kernelsite.accounts.middleware import TeamRequest
    from kernelsite.accounts.models import Team
    from search.workload import Case, Workload

_Row = TypeVar("_Row", bound=Version)


@require_GET
def workloads(request: TeamRequest) -> HttpResponse:
    """The newest version of every workload, with what searches brought."""
    rows = WorkloadVersion.objects.visible_to(request.team).newest().annotate(**_results(request.team))
    return render(request, "catalog/workloads.html", {"workloads": rows.order_by("slug")})


@require_GET
def workload(request: TeamRequest, slug: str, version: int | None = None) -> HttpResponse:
    """One version; the newest when the address names none."""
    row, versions = _version(WorkloadVersion.objects.visible_to(request.team), slug, version)
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


@require_GET
def libraries(request: TeamRequest) -> HttpResponse:
    """The newest version of every library."""
    rows = LibraryVersion.objects.visible_to(request.team).newest().annotate(**_results(request.team))
    shown = [(row, row.record) for row in rows.order_by("slug")]
    return render(request, "catalog/libraries.html", {"libraries": shown})


@require_GET
def library(request: TeamRequest, slug: str, version: int | None = None) -> HttpResponse:
    """One version, its actions by family."""
    row, versions = _version(LibraryVersion.objects.visible_to(request.team), slug, version)
    context = {"library": row, "record": row.record, "versions": versions, "families": _families(row.record)}
    return render(request, "catalog/library.html", context)


def _results(team: Team | None) -> dict[str, Aggregate]:
    """Annotations `search_count` and `best` from the team's searches; what a landscape answered is no record."""
    own = Q(searches__team=team)
    return {
        "search_count": Count("searches", filter=own),
        "best": Max(
            "searches__best_speedup", filter=own & ~Q(searches__device_class__startswith="recorded:")
        ),
    }


def _version(rows: VersionQuerySet[_Row], slug: str, version: int | None) -> tuple[_Row, list[_Row]]:
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


def _families(record: ActionLibrary) -> list[tuple[ActionFamily, list[Action]]]:
    found: dict[ActionFamily, list[Action]] = {}
    for action in record.actions:
        found.setdefault(action.family, []).append(action)
    return [(family, found[family]) for family in ActionFamily if family in found]
