"""Start page and find box."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

from django.db.models import Q, Sum
from django.http import JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET

from kernelsite.catalog.models import LibraryVersion, WorkloadVersion
from kernelsite.fleet.models import Device
from kernelsite.notices.models import Receipt
from kernelsite.searches.models import AttemptState, Evaluation, Search
from kernelsite.searches.models.search import FINAL
from kernelsite.searches.progress import etas, records
from kernelsite.searches.sparkline import sparklines
from search.records import SearchState, Stage, WaitReason

if TYPE_CHECKING:
    from django.http import HttpResponse

    from kernelsite.accounts.middleware import TeamRequest

RECENT = 8
MOST_RUNNING = 20
STAGE_WORDS = {
    Stage.EXPLORE.value: "Structure search",
    Stage.TUNE.value: "Local tuning",
    Stage.CONFIRM.value: "Confirming",
}
SHORT_ID = re.compile(
    r"(?:S-?(\d{1,9})|(?:ST-?)?(\d{1,9}\.\d{1,6})|(?:C-?)?(\d{1,9}\.\d{1,6}\.\d{1,6}[a-z]?)|CMP-?(\d{1,9}))",
    re.IGNORECASE,
)
"""Short ids as people copy them: `S-142`, `ST-142.17`, `C-142.17.031`, `CMP-3`; dashes and, where dots tell, letters may be left out."""


@require_GET
def home(request: TeamRequest) -> HttpResponse:
    """What runs, what came out lately; for a new team, how to begin."""
    rows = Search.objects.of_team(request.team).listed().defer("settings", "endpoints")
    running = list(rows.exclude(state__in=FINAL)[:MOST_RUNNING])
    devices = list(Device.objects.all())
    recent = list(rows.filter(state__in=FINAL).order_by("-finished_at")[:RECENT])
    context = {
        "running": running,
        "sparks": sparklines(running),
        "etas": etas(running),
        "recent": recent,
        "records": records(request.team, RECENT),
        "devices": devices,
        "online": [device for device in devices if device.is_online],
        "busy": sum(device.word == "busy" for device in devices),
        "queued": Evaluation.objects.filter(state=AttemptState.QUEUED).count(),
        "reviews": rows.filter(wait_reason=WaitReason.REVIEW).count(),
        "week": _week(request),
        "workload_count": WorkloadVersion.objects.visible_to(request.team).count(),
        "library_count": LibraryVersion.objects.visible_to(request.team).count(),
        "is_new": not rows.filter(state=SearchState.FINISHED).exists(),
        "launched": bool(running or recent),
        "stage_words": STAGE_WORDS,
    }
    return render(request, "searches/home.html", context)


def _week(request: TeamRequest) -> dict[str, float | None]:
    """Spendings of searches that moved within a week."""
    rows = Search.objects.of_team(request.team).filter(last_event_at__gte=timezone.now() - timedelta(days=7))
    return rows.aggregate(
        evaluations=Sum("evaluations_spent", default=0),
        passed=Sum("passed_count", default=0),
        device_s=Sum("device_seconds_spent", default=0.0),
        tokens=Sum("tokens_spent", default=0),
        cost_usd=Sum("cost_usd_spent", default=0.0),
    )


@require_GET
def running_json(request: TeamRequest) -> JsonResponse:
    """How many searches of the team have not ended, and what the person has not read; the top bar asks now and then."""
    running = Search.objects.of_team(request.team).exclude(state__in=FINAL).count()
    unread = Receipt.objects.of(request.user, request.team).unread().count()
    return JsonResponse({"running": running, "unread": unread})


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
    search, structure, candidate, comparison = match.groups()
    if search:
        return f"/searches/{int(search)}/"
    if comparison:
        return f"/compare/{int(comparison)}/"
    return f"/structures/{structure}/" if structure else f"/candidates/{candidate.lower()}/"
