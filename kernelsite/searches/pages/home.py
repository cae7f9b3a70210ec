"""Start page and find box."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

from django.db.models import Count, Q
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET

from kernelsite.catalog.models import LibraryVersion, WorkloadVersion
from kernelsite.fleet.models import Device
from kernelsite.searches.models import Evaluation, Search
from kernelsite.searches.models.search import FINAL
from kernelsite.searches.sparkline import sparklines

if TYPE_CHECKING:
    from django.http import HttpResponse

    from kernelsite.accounts.middleware import TeamRequest

RECENT = 8
SHORT_ID = re.compile(
    r"(?:(S)-?(\d{1,9})|(ST)-?(\d{1,9}\.\d{1,6})|(C)-?(\d{1,9}\.\d{1,6}\.\d{1,6}[a-z]?))", re.IGNORECASE
)


@require_GET
def home(request: TeamRequest) -> HttpResponse:
    """What runs, what came out lately; for a new team, how to begin."""
    rows = Search.objects.of_team(request.team).select_related("workload", "library")
    running = list(rows.exclude(state__in=FINAL)[:20])
    context = {
        "running": running,
        "sparks": sparklines(running),
        "recent": list(rows.filter(state__in=FINAL).order_by("-finished_at")[:RECENT]),
        "records": list(rows.filter(best_speedup__isnull=False).order_by("-best_speedup")[:RECENT]),
        "devices": list(Device.objects.online()),
        "device_count": Device.objects.count(),
        "week": _week(request),
        "workload_count": WorkloadVersion.objects.visible_to(request.team).count(),
    }
    return render(request, "searches/home.html", context)


def _week(request: TeamRequest) -> dict[str, int]:
    since = timezone.now() - timedelta(days=7)
    rows = Evaluation.objects.filter(search__team=request.team, counted=True, finished_at__gte=since)
    return rows.aggregate(evaluations=Count("id"), passed=Count("id", filter=Q(status="PASSED")))


@require_GET
def find(request: TeamRequest) -> HttpResponse:
    """Go straight to a short id; otherwise list what has the words in its name."""
    query = request.GET.get("q", "").strip()[:200]
    if match := SHORT_ID.fullmatch(query):
        return redirect(_place(match))
    named = Q(title__icontains=query)
    context = {
        "query": query,
        "searches": Search.objects.of_team(request.team).filter(named)[:20] if query else [],
        "workloads": WorkloadVersion.objects.visible_to(request.team).filter(
            named | Q(slug__icontains=query)
        )[:20]
        if query
        else [],
        "libraries": LibraryVersion.objects.visible_to(request.team).filter(named | Q(slug__icontains=query))[
            :20
        ]
        if query
        else [],
    }
    return render(request, "searches/find.html", context)


def _place(match: re.Match[str]) -> str:
    """Address of a short id; whether it exists and may be seen is for that page to say."""
    _, search, _, structure, _, candidate = match.groups()
    if search:
        return f"/searches/{int(search)}/"
    return f"/structures/{structure}/" if structure else f"/candidates/{candidate.lower()}/"
