"""Searches: launch, list, steer, caps, log, calls to models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Header, Query, Router, Status
from ninja.errors import ValidationError

from kernelsite.accounts import audit
from kernelsite.accounts.models import Scope
from kernelsite.accounts.roles import Act
from kernelsite.api import launching, records
from kernelsite.api.auth import demand_act, demand_scope
from kernelsite.api.paging import After, Before, Limit, newest
from kernelsite.api.schemas import CallPage, CapsBody, LaunchBody, SearchPage
from kernelsite.api.waiting import LONGEST_S, wait_for_event
from kernelsite.endpoints.models import ModelEndpoint
from kernelsite.searches import caps, snapshot
from kernelsite.searches.forms import device_choices
from kernelsite.searches.launch import launch_search
from kernelsite.searches.live_views import etag, steer
from kernelsite.searches.models import ModelCall, Search, TransitionError
from kernelsite.searches.rows import search_row
from search.agents.llm.transcript import record_line
from search.strategies import STRATEGIES

if TYPE_CHECKING:
    from kernelsite.searches.snapshot import EventRow

Key = Annotated[str, Header(alias="Idempotency-Key", max_length=100)]
Word = Annotated[str, Query(max_length=100)]
Wait = Annotated[float, Query(ge=0, le=LONGEST_S)]

router = Router(tags=["searches"])


@router.get("/searches", response=SearchPage, url_name="searches")
def searches(
    request: Any, limit: Limit = 50, before: Before = None, state: Word = "", workload: Word = ""
) -> dict[str, Any]:
    """The team's searches, newest first."""
    demand_scope(request, Scope.READ)
    rows = Search.objects.of_team(request.team).select_related("workload", "library")
    wanted = {name: word for name, word in (("state", state), ("workload__slug", workload)) if word}
    return newest(rows.filter(**wanted).defer(*snapshot.DOCUMENTS), limit, before, search_row)


@router.post("/searches", response={200: records.SearchAnswer, 201: records.SearchAnswer}, url_name="launch")
def launch(request: Any, body: LaunchBody, key: Key = "") -> Status[Any]:
    """Launch one search; 200 when its Idempotency-Key has launched it before."""
    demand_act(request, Act.LAUNCH)
    order = launching.order_of(request, body, key)
    with transaction.atomic():
        search, is_new = launch_search(order)
        if is_new:
            audit.record(request, "launch", search)
    return Status(201 if is_new else 200, search_row(search))


@router.get("/launch-form", response=dict[str, Any], url_name="launch_form")
def launch_form(request: Any) -> dict[str, Any]:
    """What a launch may choose from, and the first value of every option."""
    demand_scope(request, Scope.READ)
    models = ModelEndpoint.objects.of_team(request.team).usable()
    return {
        "defaults": launching.defaults().dump(),
        "presets": launching.presets(),
        "strategies": {name: strategy.title for name, strategy in STRATEGIES.items()},
        "device_classes": dict(device_choices()),
        "models": {row.pk: row.name for row in models},
    }


@router.get("/searches/{int:search_id}", response=records.SearchAnswer, url_name="search")
def search(request: Any, search_id: int) -> Any:
    """One search: state, budget, counts, best candidate."""
    return search_row(seen_search(request, search_id))


@router.get("/searches/{int:search_id}/settings", response=dict[str, Any], url_name="settings")
def settings(request: Any, search_id: int) -> dict[str, Any]:
    """Its frozen settings."""
    return dict(seen_search(request, search_id).settings)


@router.get("/searches/{int:search_id}/snapshot", response=dict[str, Any], url_name="snapshot")
def whole(request: Any, search_id: int, response: HttpResponse) -> Any:
    """Everything that its page shows: search, structures, candidates, failures, the end of the log."""
    row = seen_search(request, search_id)
    document = snapshot.take(row.pk)
    response.headers["ETag"] = etag(document["epoch"], document["seq"])
    return document


@router.post("/searches/{int:search_id}/pause", response=records.SearchAnswer, url_name="pause")
def pause(request: Any, search_id: int) -> Any:
    """Ask for nothing new; what runs may finish."""
    return _steer(request, search_id, "pause")


@router.post("/searches/{int:search_id}/resume", response=records.SearchAnswer, url_name="resume")
def resume(request: Any, search_id: int) -> Any:
    """Go on after a pause."""
    return _steer(request, search_id, "resume")


@router.post("/searches/{int:search_id}/stop", response=records.SearchAnswer, url_name="stop")
def stop(request: Any, search_id: int) -> Any:
    """End the search now."""
    return _steer(request, search_id, "stop")


def _steer(request: Any, search_id: int, action: str) -> Any:
    demand_act(request, Act.STEER)
    steer(request, own_search(request, search_id), action)
    return search_row(own_search(request, search_id))


@router.put("/searches/{int:search_id}/caps", response=records.SearchAnswer, url_name="caps")
def move_caps(request: Any, search_id: int, body: CapsBody) -> Any:
    """Move the caps on tokens and money; the next call is held against them."""
    demand_act(request, Act.EXTEND)
    row = own_search(request, search_id)
    if row.is_final:
        raise TransitionError(f"{row.short} is over; its caps do not move any more")
    caps.move_caps(request, row, checked(caps.CapsForm(row, body.model_dump())))
    return search_row(own_search(request, search_id))


def checked(form: Any) -> dict[str, Any]:
    """Values of a form.

    Raises:
        ValidationError: what the form says of its fields.
    """
    if not form.is_valid():
        found = [
            {"loc": ("form", "" if name == "__all__" else name), "msg": text}
            for name, texts in form.errors.items()
            for text in texts
        ]
        raise ValidationError(found)
    return dict(form.cleaned_data)


@router.get("/searches/{int:search_id}/events", response=records.EventsAnswer, url_name="events")
def events(
    request: Any, search_id: int, after: After = 0, limit: Limit = 100, wait: Wait = 0.0
) -> dict[str, Any]:
    """Events after a number; with `wait` the answer comes when there is one, or after so many seconds."""
    seen_search(request, search_id)
    wait_for_event(search_id, after, wait)
    # The standing is read first, so its `seq` is never ahead of the events.
    row = own_search(request, search_id)
    found = snapshot.events_after(search_id, after, limit)
    return {
        "epoch": row.epoch,
        "seq": row.event_seq,
        "state": row.state,
        "items": [_event(each) for each in found],
        "next": found[-1]["s"] if found else after,
    }


def _event(row: EventRow) -> dict[str, Any]:
    told = row["d"]
    parts = {name: told.get(name) for name in ("search", "structure", "candidate")}
    return {"seq": row["s"], "kind": row["k"], "at": row["at"], "text": told.get("text", ""), **parts}


@router.get("/searches/{int:search_id}/calls", response=CallPage, url_name="calls")
def calls(request: Any, search_id: int, limit: Limit = 50, before: Before = None) -> dict[str, Any]:
    """Its calls to models, newest first, without texts."""
    rows = seen_search(request, search_id).calls.without_texts().select_related("step")
    return newest(rows, limit, before, _call)


def _call(row: ModelCall) -> dict[str, Any]:
    names = ("id", "host", "model", "role", "number", "state", "outcome", "tokens", "usd", "latency_s")
    counts = ("prompt_tokens", "cached_tokens", "completion_tokens")
    told = {name: getattr(row, name) for name in (*names, *counts)}
    return told | {"step": row.step.number, "endpoint": row.endpoint_name, "at": row.reserved_at}


@router.get("/searches/{int:search_id}/calls/{int:call_id}", url_name="call")
def call(request: Any, search_id: int, call_id: int) -> HttpResponse:
    """One call as its transcript keeps it: prompt and answer, secrets masked."""
    found = get_object_or_404(seen_search(request, search_id).calls, pk=call_id)
    return HttpResponse(record_line(found.record), content_type="application/json")


def seen_search(request: Any, search_id: int) -> Search:
    """A search that the token may read."""
    demand_scope(request, Scope.READ)
    return own_search(request, search_id)


def own_search(request: Any, search_id: int) -> Search:
    """The search, when it is the team's; others do not learn that it exists."""
    rows = Search.objects.of_team(request.team).select_related("workload", "library")
    return get_object_or_404(rows.defer(*snapshot.DOCUMENTS), pk=search_id)
