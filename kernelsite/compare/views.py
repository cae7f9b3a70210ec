"""Pages of comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.core.paginator import Paginator
from django.db.models import Prefetch
from django.http import HttpResponse, HttpResponseNotModified, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from kernelsite.compare.arms import arms_of, curves, fairness, pairings
from kernelsite.compare.models import Comparison
from kernelsite.compare.statistics import INTERVAL_SEEDS, VERDICT_SEEDS
from kernelsite.searches.live_views import etag
from kernelsite.searches.models import Search

if TYPE_CHECKING:
    from kernelsite.accounts.middleware import TeamRequest

PER_PAGE = 30


@require_GET
def comparisons(request: TeamRequest) -> HttpResponse:
    """All comparisons of the team."""
    arms = Prefetch("searches", Search.objects.select_related("workload").order_by("id"))
    rows = Comparison.objects.filter(team=request.team).prefetch_related(arms)
    page = Paginator(rows, PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "compare/list.html", {"page": page})


@require_GET
def comparison(request: TeamRequest, comparison_id: int) -> HttpResponse:
    """The arms of one comparison, as they stand now."""
    row = get_object_or_404(Comparison.objects.filter(team=request.team), pk=comparison_id)
    arms = arms_of(row)
    context = {
        "comparison": row,
        "arms": arms,
        "seed_count": max((len(arm.searches) for arm in arms), default=0),
        "interval_seeds": INTERVAL_SEEDS,
        "verdict_seeds": VERDICT_SEEDS,
        "pairings": pairings(arms),
        "fairness": fairness(arms),
        "curves": curves(arms),
        "is_over": all(arm.is_over for arm in arms),
    }
    return render(request, "compare/comparison.html", context)


@require_GET
def curves_json(request: TeamRequest, comparison_id: int) -> HttpResponse:
    """Data of the chart; 304 while no arm has moved."""
    row = get_object_or_404(Comparison.objects.filter(team=request.team), pk=comparison_id)
    moved = sum(row.searches.values_list("event_seq", flat=True))
    headers = {"ETag": etag(f"compare-{row.pk}", moved), "Cache-Control": "private, no-cache"}
    if request.headers.get("If-None-Match") == headers["ETag"]:
        return HttpResponseNotModified(headers=headers)
    return JsonResponse(curves(arms_of(row)), headers=headers)
