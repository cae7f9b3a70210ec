"""The list of what a person was told, and marking it read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.core.paginator import Paginator
from django.http import Http404, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from kernelsite.notices.models import Receipt

if TYPE_CHECKING:
    from django.http import HttpResponse

    from kernelsite.accounts.middleware import TeamRequest

PER_PAGE = 30


@never_cache
@require_GET
def inbox(request: TeamRequest) -> HttpResponse:
    """Newest first; `?unread=1` leaves out what was read."""
    own = Receipt.objects.of(request.user, request.team)
    only_unread = request.GET.get("unread") == "1"
    shown = (own.unread() if only_unread else own).select_related("notice")
    context = {
        "page": Paginator(shown, PER_PAGE).get_page(request.GET.get("page")),
        "unread": own.unread().count(),
        "only_unread": only_unread,
    }
    return render(request, "notices/inbox.html", context)


@require_POST
def read(request: TeamRequest) -> HttpResponse:
    """Mark one (`receipt`) or all read; nobody else sees a difference, so the trail does not tell it."""
    own, word = Receipt.objects.of(request.user, request.team), request.POST.get("receipt", "all")
    if word != "all":
        if not (word.isascii() and word.isdecimal() and len(word) < 19):
            raise Http404
        own = own.filter(pk=int(word))
        if not own.exists():
            raise Http404
    count = own.read()
    if request.headers.get("Accept") == "application/json":
        return JsonResponse({"read": count})
    return redirect("notices:inbox")
