"""`/p/<token>/`: what a guest sees. Unknown, expired, revoked and switched-off links get one and the same answer."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import TYPE_CHECKING, Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpResponse, HttpResponseNotModified, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe
from pydantic import ValidationError

from kernelsite.accounts.addresses import client_address
from kernelsite.accounts.models.invitation import digest
from kernelsite.catalog.templatetags.show import speedup
from kernelsite.shares import figures
from kernelsite.shares.document import Result, Scope
from kernelsite.shares.kinds import KINDS
from kernelsite.shares.models import GuestMinute, Share
from kernelsite.shares.pages import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest

    View = Callable[..., HttpResponse]
    GuestView = Callable[..., HttpResponse | None]

log = logging.getLogger(__name__)

FROZEN_POLICY = "; ".join(
    (
        "default-src 'none'",
        "style-src 'self'",
        "font-src 'self'",
        "img-src 'self'",
        "form-action 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
LIVE_POLICY = f"{FROZEN_POLICY}; script-src 'self'; connect-src 'self'"
SEALED = {
    "X-Robots-Tag": "noindex, nofollow, noarchive",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "private, no-store",
    "Content-Security-Policy": FROZEN_POLICY,
}
"""On every answer, whatever it says."""


@dataclass(frozen=True)
class Opened:
    """A link that works, with what it shows."""

    share: Share
    token: str
    thing: Any
    version: str
    """Of the thing as it is now."""

    @property
    def result(self) -> Result:
        """The frozen document, or the thing as it is now."""
        share = self.share
        if not share.is_live:
            return Result.load(share.document)
        scope = Scope(share.has_tree, share.has_code, share.has_transcript)
        return KINDS[share.kind].result(self.thing, share.title, scope)

    @property
    def is_outdated(self) -> bool:
        """The thing has moved on since it was frozen."""
        return not self.share.is_live and self.version != self.share.version

    @property
    def etag(self) -> str:
        """Changes with what the page shows; hashed, since versions are made of ids that guests do not see."""
        return f'"{digest(f"{self.token} {self.version} {self.share.expires_at.timestamp()}")[:32]}"'


def guests(view: GuestView) -> View:
    """Decorator: counts the request, looks the token up, hands the view what it opens, seals the answer."""

    @login_not_required
    @require_safe
    @wraps(view)
    def guarded(request: HttpRequest, token: str, **words: str) -> HttpResponse:
        if not GuestMinute.objects.allow(client_address(request)):
            return _sealed(_refused(request))
        opened = _open(token)
        response = _viewed(view, request, opened, words) if opened else None
        return _sealed(response or render(request, "shares/missing.html", status=404))

    return guarded


def _viewed(
    view: GuestView, request: HttpRequest, opened: Opened, words: dict[str, str]
) -> HttpResponse | None:
    try:
        return view(request, opened, **words)
    except ValidationError:
        log.exception("the document of %s was kept by another version and cannot be read", opened.share)
        return None


def _refused(request: HttpRequest) -> HttpResponse:
    response = render(request, "shares/too_many.html", status=429)
    response.headers["Retry-After"] = "60"
    return response


def _open(token: str) -> Opened | None:
    share = Share.objects.find(token)
    kind = KINDS.get(share.kind) if share else None
    if share is None or kind is None:
        return None
    thing = kind.find(share.team_id, share.thing_id)
    return Opened(share, token, thing, kind.version(thing)[:100]) if thing is not None else None


def _sealed(response: HttpResponse) -> HttpResponse:
    for name, value in SEALED.items():
        if name != "Content-Security-Policy" or name not in response.headers:
            response.headers[name] = value
    return response


@guests
def page(request: HttpRequest, opened: Opened) -> HttpResponse:
    """The result as a page. A live one that has not changed since the guest's copy answers 304."""
    if request.headers.get("If-None-Match") == opened.etag:
        return HttpResponseNotModified(headers={"ETag": opened.etag})
    if request.method == "GET" and "If-None-Match" not in request.headers:
        Share.objects.note_open(opened.share.pk)
    result = opened.result
    context = shown(result) | {
        "share": opened.share,
        "token": opened.token,
        "is_live": opened.share.is_live,
        "is_outdated": opened.is_outdated,
        "is_public": True,
        "etag": opened.etag,
        "summary": _summary(result),
        "taken_at": datetime.fromisoformat(result.taken_at),
        "picture": request.build_absolute_uri(reverse("shares:picture", args=[opened.token])),
    }
    response = render(request, "shares/public.html", context)
    response.headers["ETag"] = opened.etag
    if opened.share.is_live:
        response.headers["Content-Security-Policy"] = LIVE_POLICY
    return response


def _summary(result: Result) -> str:
    """One line for the card of a chat."""
    best = result.headline
    words = [
        f"{speedup(best.speedup)} over {best.baseline}" if best else "no result yet",
        result.workload.title,
    ]
    return " · ".join(word for word in (*words, result.device) if word)


@guests
def data(request: HttpRequest, opened: Opened) -> HttpResponse:
    """The same as JSON."""
    share = opened.share
    document = opened.result.dump() | {
        "state": "live" if share.is_live else "frozen",
        "until": share.expires_at.isoformat(timespec="seconds"),
    }
    if not share.is_live:
        document["revision"] = share.revision
    return JsonResponse(document, headers={"Content-Disposition": 'attachment; filename="result.json"'})


@guests
def picture(request: HttpRequest, opened: Opened) -> HttpResponse:
    """The card that chats and networks show beside the link."""
    return HttpResponse(figures.card(opened.result), content_type="image/png")


@guests
def figure(request: HttpRequest, opened: Opened, name: str, form: str) -> HttpResponse | None:
    """One figure as a file."""
    found = figures.figure(opened.result, name, form)
    if found is None:
        return None
    content, content_type = found
    headers = {
        "Content-Disposition": f'attachment; filename="{name}.{form}"',
        "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    }
    return HttpResponse(content, content_type=content_type, headers=headers)
