"""Comparisons: searches launched together, any searches side by side, and sets of them kept under a name."""

from __future__ import annotations

from typing import Annotated, Any

from django.db import transaction
from django.db.models import Prefetch
from django.http import Http404
from django.shortcuts import get_object_or_404
from ninja import Path, Query, Router, Status

from kernelsite.accounts import audit
from kernelsite.accounts.models import Scope
from kernelsite.accounts.roles import Act
from kernelsite.api import launching, records
from kernelsite.api.auth import demand_act, demand_scope
from kernelsite.api.paging import Before, Limit, newest
from kernelsite.api.schemas import ComparisonBody, ComparisonPage, SavedSetBody, SavedSetPage
from kernelsite.api.searches import Key, checked
from kernelsite.compare import exports
from kernelsite.compare.forms import SaveForm
from kernelsite.compare.groups import MOST_SEARCHES, groups_of, selected
from kernelsite.compare.launch import ComparisonOrder, launch_comparison
from kernelsite.compare.models import Comparison, SavedSet
from kernelsite.compare.summary import summary
from kernelsite.searches.forms import EVALUATIONS_PER_LAUNCH
from kernelsite.searches.launch import LaunchError
from kernelsite.searches.models import Search

ARMS = Prefetch("searches", Search.objects.order_by("pk").only("pk", "comparison"))
Slug = Annotated[str, Path(pattern=r"^[a-z0-9-]{1,60}$")]
Numbers = Annotated[str, Query(pattern=r"^\d{1,9}(,\d{1,9}){0,95}$", description="e.g. 12,13")]

router = Router(tags=["comparisons"])


@router.get("/comparisons", response=ComparisonPage, url_name="comparisons")
def comparisons(request: Any, limit: Limit = 50, before: Before = None) -> dict[str, Any]:
    """The team's launched comparisons with the numbers of their searches, newest first."""
    demand_scope(request, Scope.READ)
    rows = Comparison.objects.filter(team=request.team).prefetch_related(ARMS)
    return newest(rows, limit, before, _comparison)


@router.post(
    "/comparisons",
    response={200: records.ComparisonAnswer, 201: records.ComparisonAnswer},
    url_name="launch_comparison",
)
def launch(request: Any, body: ComparisonBody, key: Key = "") -> Status[Any]:
    """Launch one search per strategy and seed; 200 when its Idempotency-Key has launched them before."""
    demand_act(request, Act.LAUNCH)
    base = launching.order_of(request, body, key)
    order = ComparisonOrder(base, tuple(body.strategies), tuple(body.seeds))
    total = base.options.budget.evaluations * len(order.strategies) * len(order.seeds)
    if total > EVALUATIONS_PER_LAUNCH:
        told = f"{total} evaluations in all; one launch may ask for {EVALUATIONS_PER_LAUNCH}"
        raise LaunchError("options.budget.evaluations", told)
    with transaction.atomic():
        row, is_new = launch_comparison(order)
        if is_new:
            audit.record(request, "launch", row)
    return Status(201 if is_new else 200, _comparison(row))


def _comparison(row: Comparison) -> dict[str, Any]:
    ids = [search.pk for search in row.searches.all()]
    return {"id": row.pk, "title": row.title, "created_at": row.created_at, "searches": sorted(ids)}


@router.get("/comparisons/{int:comparison_id}", response=dict[str, Any], url_name="comparison")
def comparison(request: Any, comparison_id: int) -> dict[str, Any]:
    """One launched comparison: its searches, and each strategy's spending and best."""
    demand_scope(request, Scope.READ)
    row = get_object_or_404(Comparison.objects.filter(team=request.team), pk=comparison_id)
    return _comparison(row) | {"arms": summary(row)["arms"]}


@router.get("/side-by-side", response=dict[str, Any], url_name="side_by_side")
def side_by_side(request: Any, s: Numbers) -> dict[str, Any]:
    """Any searches as the comparison page shows them: groups, curves, verdicts, fairness, differing settings."""
    demand_scope(request, Scope.READ)
    groups = groups_of(selected(request.team, [int(word) for word in s.split(",")]))
    if not groups:
        raise Http404
    return exports.document(groups, groups[0])


@router.get("/saved-sets", response=SavedSetPage, url_name="saved_sets")
def saved_sets(request: Any, limit: Limit = 50, before: Before = None) -> dict[str, Any]:
    """The team's saved sets, newest first."""
    demand_scope(request, Scope.READ)
    rows = SavedSet.objects.filter(team=request.team).prefetch_related(ARMS)
    return newest(rows, limit, before, _saved)


def _saved(row: SavedSet) -> dict[str, Any]:
    told = {name: getattr(row, name) for name in ("slug", "title", "note", "created_at")}
    return told | {"searches": [search.pk for search in row.searches.all()]}


@router.get("/saved-sets/{slug}", response=records.SavedSetAnswer, url_name="saved_set")
def saved_set(request: Any, slug: Slug) -> dict[str, Any]:
    """One saved set."""
    demand_scope(request, Scope.READ)
    return _saved(_own_set(request, slug))


@router.put(
    "/saved-sets/{slug}",
    response={200: records.SavedSetAnswer, 201: records.SavedSetAnswer},
    url_name="save_set",
)
def save_set(request: Any, slug: Slug, body: SavedSetBody) -> Status[Any]:
    """Keep searches under this name, in the place of what it held; doing it twice changes nothing."""
    demand_act(request, Act.KEEP_SETS)
    with transaction.atomic():
        row = SavedSet.objects.select_for_update().filter(team=request.team, slug=slug).first()
        is_new = row is None
        row = row or SavedSet(team=request.team, created_by=request.user)
        form = SaveForm({"slug": slug, "title": body.title, "note": body.note}, instance=row)
        checked(form)
        searches = selected(request.team, body.searches[:MOST_SEARCHES])
        if len(searches) < len(set(body.searches)):
            raise LaunchError("searches", "one of these searches is not there, or it is another team's")
        form.save()
        row.searches.set(searches)
        told = {"searches": ", ".join(each.short for each in searches)}
        audit.record(request, "save" if is_new else "change", row, after=told)
    return Status(201 if is_new else 200, _saved(_own_set(request, slug)))


@router.delete("/saved-sets/{slug}", response={204: None}, url_name="forget_set")
def forget_set(request: Any, slug: Slug) -> Status[None]:
    """Delete a saved set; its searches stay."""
    demand_act(request, Act.KEEP_SETS)
    row = _own_set(request, slug)
    with transaction.atomic():
        audit.record(request, "forget", row)
        row.delete()
    return Status(204, None)


def _own_set(request: Any, slug: str) -> SavedSet:
    return get_object_or_404(SavedSet.objects.filter(team=request.team).prefetch_related(ARMS), slug=slug)
