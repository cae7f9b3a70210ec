"""Views of pages that people keep: an address with all that was chosen on it, under a short key.

An address of more than 1,500 characters shortens itself this way (`static/js/urlstate.js`): `?saved=<key>` stands for it.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.db import transaction
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import Resolver404, resolve
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from kernelsite.accounts import audit
from kernelsite.accounts.roles import Act, asks
from kernelsite.compare.models import VIEW_LIMIT, SavedView, new_view_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelsite.accounts.middleware import TeamRequest

PER_PAGE = 30
WORD = "saved"
"""Word of the address that stands for a kept one."""


class ViewForm(forms.Form):
    """A page of the site and its query."""

    title = forms.CharField(required=False, max_length=120)
    path = forms.CharField(max_length=200)
    query = forms.CharField(required=False, max_length=VIEW_LIMIT)

    def clean_path(self) -> str:
        """Only pages of this site: a kept view must lead nobody elsewhere."""
        path = str(self.cleaned_data["path"])
        try:
            match = resolve(path)
        except Resolver404 as error:
            raise forms.ValidationError("there is no such page here") from error
        if match.app_name == "api" or path.startswith("//"):
            raise forms.ValidationError("only pages can be kept")
        return path

    def clean_query(self) -> str:
        """Without the question mark."""
        return str(self.cleaned_data["query"]).removeprefix("?")


@require_http_methods(["GET", "POST"])
def views(request: TeamRequest) -> HttpResponse:
    """The views that a person kept; POST keeps one more."""
    if request.method == "POST":
        return _keep(request)
    rows = SavedView.objects.filter(team=request.team, user=request.user.pk)
    page = Paginator(rows, PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "compare/views.html", {"page": page})


@asks(Act.KEEP_VIEWS)
def _keep(request: TeamRequest) -> HttpResponse:
    wants_json = "application/json" in request.headers.get("Accept", "")
    form = ViewForm(request.POST)
    if not form.is_valid():
        told = "; ".join(f"{name}: {error}" for name, errors in form.errors.items() for error in errors)
        if wants_json:
            return JsonResponse({"error": told}, status=422)
        messages.warning(request, f"The view was not kept. {told}")
        return redirect("compare:views")
    row = _row(request, **form.cleaned_data)
    if wants_json:
        return JsonResponse({"key": row.key})
    messages.info(
        request,
        f"Kept as “{row.title}”; its short link is {request.build_absolute_uri(row.get_absolute_url())}",
    )
    return redirect("compare:views")


def _row(request: TeamRequest, title: str, path: str, query: str) -> SavedView:
    """The row of an address; the same address again is the same row, under the newer title."""
    if request.team is None or not isinstance(request.user, User):
        raise Http404
    digest = hashlib.sha256(f"{path}?{query}".encode()).hexdigest()
    known = {"team": request.team, "user": request.user, "digest": digest}
    new = {"key": new_view_key(), "path": path, "query": query, "title": title or path}
    with transaction.atomic():
        row, made = SavedView.objects.get_or_create(**known, defaults=new)
        if title and not made:
            row.title = title
            row.save(update_fields=["title"])
        if made or title:
            audit.record(request, "keep", row, after={"title": row.title})
    return row


@require_GET
def view(request: TeamRequest, key: str) -> HttpResponse:
    """Go to a kept view; whoever is in the team may."""
    return redirect(get_object_or_404(SavedView, team=request.team, key=key).address)


@require_POST
@asks(Act.KEEP_VIEWS)
def forget_view(request: TeamRequest, key: str) -> HttpResponse:
    """Forget a view of one's own; its short link leads nowhere then."""
    row = get_object_or_404(SavedView, team=request.team, user=request.user.pk, key=key)
    with transaction.atomic():
        audit.record(request, "forget", row)
        row.delete()
    messages.info(request, f"The view “{row.title}” is forgotten.")
    return redirect("compare:views")


def opens_kept(get_response: Callable[[TeamRequest], HttpResponse]) -> Callable[[TeamRequest], HttpResponse]:
    """Middleware: `?saved=<key>` on the kept view's own page becomes the address that it stands for."""

    def middleware(request: TeamRequest) -> HttpResponse:
        key = request.GET.get(WORD, "")[:20] if request.method == "GET" else ""
        row = SavedView.objects.filter(team=request.team, key=key, path=request.path).first() if key else None
        return redirect(row.address) if row else get_response(request)

    return middleware
