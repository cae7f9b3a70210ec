"""Pages of comparisons: launched together, picked by address (`?s=12,13`), or saved under a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.db import IntegrityError, transaction
from django.db.models import Prefetch
from django.http import Http404, HttpResponse, HttpResponseNotModified, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from kernelsite.accounts import audit
from kernelsite.accounts.roles import Act, asks, may
from kernelsite.compare import exports, plots
from kernelsite.compare.cases import by_case
from kernelsite.compare.fairness import fairness, settings_diff
from kernelsite.compare.forms import SaveForm, search_ids
from kernelsite.compare.groups import (
    MOST_GROUPS,
    MOST_LINES,
    MOST_SEARCHES,
    Group,
    groups_of,
    pairings,
    selected,
    shares,
)
from kernelsite.compare.models import Comparison, SavedSet
from kernelsite.compare.ribbons import ribbons
from kernelsite.compare.runs import AXES, EVALUATIONS, Axis, offered
from kernelsite.compare.statistics import FRACTIONS, INTERVAL_SEEDS, VERDICT_SEEDS
from kernelsite.searches.live_views import etag
from kernelsite.searches.models import Search

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelsite.accounts.middleware import TeamRequest

PER_PAGE = 30
MOST_SETS = 8


@require_GET
def comparisons(request: TeamRequest) -> HttpResponse:
    """All comparisons of the team; with `?s=` those searches side by side."""
    if "s" in request.GET:
        return _page(request, selected(request.team, search_ids(request.GET)), {})
    arms = Prefetch("searches", Search.objects.defer("settings", "endpoints").order_by("id"))
    rows = Comparison.objects.filter(team=request.team).prefetch_related(arms)
    page = Paginator(rows, PER_PAGE).get_page(request.GET.get("page"))
    saved = SavedSet.objects.filter(team=request.team).prefetch_related(
        Prefetch("searches", Search.objects.only("pk"))
    )[:PER_PAGE]
    return render(request, "compare/list.html", {"page": page, "saved": saved})


@require_GET
def comparison(request: TeamRequest, comparison_id: int) -> HttpResponse:
    """The arms of one launched comparison, as they stand now."""
    row = get_object_or_404(Comparison.objects.filter(team=request.team), pk=comparison_id)
    searches = list(row.searches.listed().order_by("pk"))
    return _page(
        request,
        searches,
        {"title": row.title, "crumb": f"CMP-{row.pk}", "is_launched": True, "shared": ("comparison", row.pk)},
    )


@require_GET
def saved(request: TeamRequest, slug: str) -> HttpResponse:
    """A set under its name."""
    row = get_object_or_404(SavedSet.objects.filter(team=request.team), slug=slug)
    searches = list(row.searches.listed().order_by("pk"))
    return _page(
        request, searches, {"title": row.title, "crumb": row.slug, "saved": row, "shared": ("set", row.pk)}
    )


@require_GET
def pick(request: TeamRequest) -> HttpResponse:
    """A list of searches to choose from; `?s=` are chosen already."""
    own = Search.objects.of_team(request.team).defer("settings", "endpoints")
    word = request.GET.get("workload", "")[:100]
    rows = own.filter(workload__slug=word) if word else own
    chosen = selected(request.team, search_ids(request.GET))
    held = [search.pk for search in chosen]
    context = {
        "page": Paginator(rows, PER_PAGE).get_page(request.GET.get("page")),
        "chosen": chosen,
        "chosen_ids": set(held),
        "sets": _sets(request, held),
        "workload": word,
        "workloads": own.order_by().values_list("workload__slug", flat=True).distinct(),
        "most": MOST_SEARCHES,
    }
    return render(request, "compare/pick.html", context)


def _sets(request: TeamRequest, held: list[int]) -> list[tuple[str, str]]:
    """Titles of saved sets and launched comparisons, with the `s` of an address that adds their searches."""
    ids = Prefetch("searches", Search.objects.order_by("pk").only("pk", "comparison"))
    saved_sets = SavedSet.objects.filter(team=request.team).prefetch_related(ids)[:MOST_SETS]
    launched = Comparison.objects.filter(team=request.team).prefetch_related(ids)[:MOST_SETS]
    sets: list[SavedSet | Comparison] = [*saved_sets, *launched]
    rows = [(row.title, [search.pk for search in row.searches.all()]) for row in sets]
    new = [(title, own) for title, own in rows if not set(own) <= set(held)]
    return [(title, ",".join(map(str, dict.fromkeys([*held, *own])))) for title, own in new]


@require_POST
@asks(Act.KEEP_SETS)
def save(request: TeamRequest) -> HttpResponse:
    """Keep a selection under a name; viewers may not."""
    searches = selected(request.team, search_ids(request.POST))
    if request.team is None or not searches:
        raise Http404
    form = SaveForm(request.POST)
    if form.is_valid():
        row = form.save(commit=False)
        row.team, row.created_by = request.team, request.user if isinstance(request.user, User) else None
        try:
            with transaction.atomic():
                row.save()
                row.searches.set(searches)
                audit.record(
                    request, "save", row, after={"searches": ", ".join(each.short for each in searches)}
                )
            return redirect(row)
        except IntegrityError:
            form.add_error("slug", "a set of this name is there already")
    return _page(request, searches, {"save_form": form}, status=422)


@require_POST
@asks(Act.KEEP_SETS)
def forget(request: TeamRequest, slug: str) -> HttpResponse:
    """Delete a saved set; its searches stay, and viewers may not."""
    row = get_object_or_404(SavedSet.objects.filter(team=request.team), slug=slug)
    with transaction.atomic():
        audit.record(request, "forget", row)
        row.delete()
    messages.info(request, f"The set “{row.title}” is deleted; its searches are still there.")
    return redirect("compare:comparisons")


def _may_write(request: TeamRequest) -> bool:
    return may(request.role, Act.KEEP_SETS)


@require_GET
def curves_json(request: TeamRequest) -> HttpResponse:
    """Data of the chart of `?s=`; 304 while no search has moved."""
    searches = selected(request.team, search_ids(request.GET))
    if not searches:
        raise Http404
    moved = sum(search.event_seq for search in searches)
    name = "-".join(str(search.pk) for search in searches)
    headers = {"ETag": etag(f"compare-{name}", moved), "Cache-Control": "private, no-cache"}
    if request.headers.get("If-None-Match") == headers["ETag"]:
        return HttpResponseNotModified(headers=headers)
    return JsonResponse(exports.curves(groups_of(searches), offered(searches)), headers=headers)


@require_GET
def data(request: TeamRequest, kind: str) -> HttpResponse:
    """The comparison of `?s=` as a file: JSON, or as CSV what `of` names."""
    groups = groups_of(selected(request.team, search_ids(request.GET)))
    if not groups:
        raise Http404
    of = request.GET.get("of", "evaluations")
    if of not in exports.FILES:
        raise Http404
    name = "comparison" if of == "evaluations" else f"comparison-{of}"
    headers = {"Content-Disposition": f'attachment; filename="{name}.{kind}"'}
    if kind == "csv":
        text = exports.csv_text(groups, of)
        return HttpResponse(text, content_type="text/csv; charset=utf-8", headers=headers)
    return JsonResponse(exports.document(groups, _reference(request, groups)), headers=headers)


def _reference(request: TeamRequest, groups: Sequence[Group]) -> Group:
    word = request.GET.get("ref", "")
    return groups[int(word)] if word.isdecimal() and int(word[:3]) < len(groups) else groups[0]


def _page(
    request: TeamRequest, searches: list[Search], context: dict[str, Any], status: int = 200
) -> HttpResponse:
    """The comparison page of any searches."""
    if not searches:
        return redirect("compare:pick")
    everything = groups_of(searches)
    groups = everything[:MOST_GROUPS]
    axes = offered(searches)
    axis = (
        AXES[word] if (word := request.GET.get("x", EVALUATIONS)) in {one.name for one in axes} else axes[0]
    )
    shown = [search for group in groups for search in group.searches]
    query = "s=" + ",".join(str(search.pk) for search in shown)
    page = {
        "title": f"{len(shown)} searches side by side",
        "groups": groups,
        "left_out": everything[MOST_GROUPS:],
        "picked": query,
        "ids": [search.pk for search in shown],
        "axes": axes,
        "axis": axis,
        "save_form": SaveForm(),
        "may_save": _may_write(request),
        "most_lines": MOST_LINES,
        "has_thin_lines": len(shown) <= MOST_LINES,
    }
    found = _findings(groups, axes, axis, _reference(request, groups))
    return render(request, "compare/comparison.html", page | found | context, status=status)


def _findings(groups: list[Group], axes: list[Axis], axis: Axis, reference: Group) -> dict[str, Any]:
    """What the searches say."""
    rows = fairness(groups)
    cases = by_case(groups)
    return {
        "seed_count": min(len(group.searches) for group in groups),
        "interval_seeds": INTERVAL_SEEDS,
        "verdict_seeds": VERDICT_SEEDS,
        "fractions": [f"{fraction:.0%}".replace("%", " %") for fraction in FRACTIONS],
        "reference": reference,
        "shares": [(group, shares(group, reference)) for group in groups],
        "pairings": pairings(groups, reference),
        "fairness": rows,
        "unfair": [row for row in rows if not row.is_equal],
        "settings_diff": settings_diff(groups),
        "ribbons": ribbons(groups),
        "cases": cases,
        "fast_p": plots.fast_p_plot(cases),
        "plot": plots.best_so_far(groups, axis),
        "curves": exports.curves(groups, axes),
        "is_over": all(group.is_over for group in groups),
    }
