"""Live data and actions of a search over HTTP: `snapshot.json`, `events.json`, pause, resume, stop."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import Http404, HttpResponse, HttpResponseNotModified, JsonResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.http import quote_etag
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from kernelsite.accounts import audit
from kernelsite.accounts.middleware import TeamRequest
from kernelsite.accounts.roles import Act, asks
from kernelsite.searches import snapshot
from kernelsite.searches.controls import ACTIONS
from kernelsite.searches.models import Search, TransitionError
from kernelsite.searches.rows import search_row

__all__ = ["TeamRequest", "act", "etag", "events_json", "snapshot_json", "steer"]

EVENTS_PER_ANSWER = 500


@require_GET
@login_required
def snapshot_json(request: TeamRequest, search_id: int) -> HttpResponse:
    """State of a search; 304 while nothing happened since the client's copy."""
    search = _own(request, search_id)
    if request.headers.get("If-None-Match") == etag(search.epoch, search.event_seq):
        return HttpResponseNotModified(headers={"ETag": etag(search.epoch, search.event_seq)})
    document = snapshot.take(search_id)
    headers = {"ETag": etag(document["epoch"], document["seq"]), "Cache-Control": "private, no-cache"}
    return JsonResponse(document, headers=headers)


@require_GET
@never_cache
@login_required
def events_json(request: TeamRequest, search_id: int) -> HttpResponse:
    """Events after a sequence number, at most 500; `seq` is the last there is."""
    search = _own(request, search_id)
    text = request.GET.get("after", "0")
    if not text.isdecimal() or len(text) > 12:
        return JsonResponse({"error": "after must be a whole number, 0 or more"}, status=400)
    rows = snapshot.events_after(search_id, int(text), EVENTS_PER_ANSWER)
    return JsonResponse({"epoch": search.epoch, "seq": search.event_seq, "events": rows})


@require_POST
@login_required
@asks(Act.STEER)
def act(request: TeamRequest, search_id: int, action: str) -> HttpResponse:
    """Pause, resume or stop; 409 when the search is over."""
    search = _own(request, search_id)
    if action not in ACTIONS:
        raise Http404
    wants_json = "application/json" in request.headers.get("Accept", "")
    try:
        steer(request, search, action)
    except TransitionError as error:
        if wants_json:
            return JsonResponse({"error": str(error)}, status=409)
        messages.warning(request, f"{error}.")
    if wants_json:
        return JsonResponse({"search": search_row(_own(request, search_id))})
    response = redirect(search)
    response.status_code = 303
    return response


def steer(request: TeamRequest, search: Search, action: str) -> None:
    """Do it and put it on the audit trail, both or neither.

    Raises:
        TransitionError: the search is over.
    """
    with transaction.atomic():
        ACTIONS[action](search.pk)
        state = Search.objects.values_list("state", flat=True).get(pk=search.pk)
        audit.record(request, action, search, before={"state": search.state}, after={"state": state})


def etag(epoch: str, seq: int) -> str:
    """Entity tag of a search's state."""
    return quote_etag(f"{epoch}-{seq}")


def _own(request: TeamRequest, search_id: int) -> Search:
    """The search, when it is the team's; others do not learn that it exists."""
    rows = Search.objects.of_team(request.team).select_related("workload", "library")
    rows = rows.defer(*snapshot.DOCUMENTS)
    return get_object_or_404(rows, pk=search_id)
