"""The API's operations. Each does what a page does, through the same functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from django.db import transaction
from django.db.models import Prefetch
from django.shortcuts import get_object_or_404
from ninja import Header, NinjaAPI, Query, Status

from kernelsite.accounts import audit
from kernelsite.accounts.models import Scope
from kernelsite.accounts.roles import Act
from kernelsite.api import problems
from kernelsite.api.auth import TokenAuth, demand_act, demand_scope
from kernelsite.api.schemas import ComparisonRow, DecisionBody, DeviceRow, LaunchBody, Page
from kernelsite.catalog.models import LibraryVersion, WorkloadVersion
from kernelsite.compare.models import Comparison
from kernelsite.fleet.models import Device
from kernelsite.fleet.views import decide
from kernelsite.searches.launch import LaunchError, Order, launch_search, new_key
from kernelsite.searches.live_views import steer
from kernelsite.searches.models import Search
from kernelsite.searches.rows import search_row

if TYPE_CHECKING:
    from kernelsite.catalog.models import VersionQuerySet

_Row = TypeVar("_Row", WorkloadVersion, LibraryVersion)

Limit = Annotated[int, Query(ge=1, le=200)]
Before = Annotated[int | None, Query(ge=1, le=2**53)]
Key = Annotated[str, Header(alias="Idempotency-Key", max_length=100)]

api = NinjaAPI(
    title="Kernelsite",
    version="1",
    description="Launch and steer searches, read their results.",
    auth=TokenAuth(),
    docs_url=None,
    urls_namespace="api",
)
problems.install(api)


@api.get("/searches", response=Page, url_name="searches")
def searches(request: Any, limit: Limit = 50, before: Before = None, state: str = "") -> dict[str, Any]:
    """The team's searches, newest first."""
    demand_scope(request, Scope.READ)
    rows = Search.objects.of_team(request.team).select_related("workload", "library").order_by("-id")
    if before is not None:
        rows = rows.filter(pk__lt=before)
    if state:
        rows = rows.filter(state=state[:20])
    found = list(rows[: limit + 1])
    more = found[limit - 1].pk if len(found) > limit else None
    return {"items": [search_row(row) for row in found[:limit]], "next": more}


@api.post("/searches", response={200: dict[str, Any], 201: dict[str, Any]}, url_name="launch")
def launch(request: Any, body: LaunchBody, key: Key = "") -> Status[dict[str, Any]]:
    """Launch one search; 200 when its Idempotency-Key has launched it before."""
    demand_act(request, Act.LAUNCH)
    order = Order(
        team=request.team,
        user=request.user,
        workload=_version(WorkloadVersion.objects.visible_to(request.team), "workload", body.workload),
        library=_version(LibraryVersion.objects.visible_to(request.team), "library", body.library),
        options=body.options,
        key=key or new_key(),
        title=body.title,
    )
    with transaction.atomic():
        search, is_new = launch_search(order)
        if is_new:
            audit.record(request, "launch", search)
    return Status(201 if is_new else 200, dict(search_row(search)))


def _version(rows: VersionQuerySet[_Row], field: str, wanted: str) -> _Row:
    slug, _, number = wanted.partition("@")
    named = rows.filter(slug=slug).order_by("-version")
    row = (named.filter(version=int(number)) if number else named).first()
    if row is None:
        raise LaunchError(field, f"there is no {field} {wanted!r}")
    return row


@api.get("/searches/{int:search_id}", response=dict[str, Any], url_name="search")
def search(request: Any, search_id: int) -> dict[str, Any]:
    """One search: state, budget, counts, best candidate."""
    demand_scope(request, Scope.READ)
    return dict(search_row(_own(request, search_id)))


@api.post("/searches/{int:search_id}/pause", response=dict[str, Any], url_name="pause")
def pause(request: Any, search_id: int) -> dict[str, Any]:
    """Ask for nothing new; what runs may finish."""
    return _steer(request, search_id, "pause")


@api.post("/searches/{int:search_id}/resume", response=dict[str, Any], url_name="resume")
def resume(request: Any, search_id: int) -> dict[str, Any]:
    """Go on after a pause."""
    return _steer(request, search_id, "resume")


@api.post("/searches/{int:search_id}/stop", response=dict[str, Any], url_name="stop")
def stop(request: Any, search_id: int) -> dict[str, Any]:
    """End the search now."""
    return _steer(request, search_id, "stop")


def _steer(request: Any, search_id: int, action: str) -> dict[str, Any]:
    demand_act(request, Act.STEER)
    steer(request, _own(request, search_id), action)
    return dict(search_row(_own(request, search_id)))


def _own(request: Any, search_id: int) -> Search:
    rows = Search.objects.of_team(request.team).select_related("workload", "library")
    return get_object_or_404(rows, pk=search_id)


@api.get("/comparisons", response=Page, url_name="comparisons")
def comparisons(request: Any, limit: Limit = 50, before: Before = None) -> dict[str, Any]:
    """The team's launched comparisons with the ids of their searches, newest first."""
    demand_scope(request, Scope.READ)
    arms = Prefetch("searches", Search.objects.order_by("pk").only("pk", "comparison"))
    rows = Comparison.objects.filter(team=request.team).prefetch_related(arms)
    found = list((rows.filter(pk__lt=before) if before is not None else rows)[: limit + 1])
    more = found[limit - 1].pk if len(found) > limit else None
    return {"items": [_comparison(row).model_dump() for row in found[:limit]], "next": more}


def _comparison(row: Comparison) -> ComparisonRow:
    ids = [search.pk for search in row.searches.all()]
    return ComparisonRow(id=row.pk, title=row.title, created_at=row.created_at, searches=ids)


@api.get("/devices", response=list[DeviceRow], url_name="devices")
def devices(request: Any) -> list[DeviceRow]:
    """All devices of the site; `state` is the word that pages show."""
    demand_scope(request, Scope.READ)
    return [_device(row) for row in Device.objects.all()]


def _device(row: Device) -> DeviceRow:
    words = {name: getattr(row, name) for name in ("id", "name", "device_class", "model", "last_seen_at")}
    return DeviceRow(**words, state=row.word)


@api.post("/devices/{int:device_id}/{action}", response=DeviceRow, url_name="decide")
def decide_device(
    request: Any, device_id: int, action: Literal["drain", "enable"], body: DecisionBody
) -> DeviceRow:
    """Drain or enable a device."""
    demand_act(request, Act.KEEP_DEVICES)
    device = get_object_or_404(Device, pk=device_id)
    decide(request, device, action, body.reason)
    return _device(device)
