"""Pages of members: all links, a new link with its preview, revoke, extend."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db import transaction
from django.http import Http404
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from kernelsite.accounts import audit
from kernelsite.accounts.roles import Act, asks, demand, may
from kernelsite.shares.forms import ShareForm
from kernelsite.shares.kinds import KINDS
from kernelsite.shares.models import TITLE_LIMIT, USUAL_DAYS, Share, SiteSharing, TeamSharing
from kernelsite.shares.pages import listed, shown
from search.records import content_hash

if TYPE_CHECKING:
    from datetime import datetime

    from django.http import HttpResponse

    from kernelsite.accounts.middleware import TeamRequest
    from kernelsite.shares.document import Result, Scope
    from kernelsite.shares.kinds.kind import Kind

PER_PAGE = 50
LONGEST_ID = 12


@never_cache
@require_GET
def shares(request: TeamRequest) -> HttpResponse:
    """Every link of the team, the latest first; with `?all=` those that have ended too."""
    rows = Share.objects.of_team(request.team).select_related("created_by").defer("document")
    everything = "all" in request.GET
    page = Paginator(rows if everything else rows.unended(), PER_PAGE).get_page(request.GET.get("page"))
    rules = TeamSharing.of(request.team) if request.team else None
    context = {
        "page": page,
        "everything": everything,
        "ended": rows.count() - rows.unended().count(),
        "rules": rules,
        "is_open": SiteSharing.allows() and rules is not None and rules.is_open,
        "may_share": may(request.role, Act.SHARE),
        "may_share_code": may(request.role, Act.SHARE_CODE),
        "usual_days": min(USUAL_DAYS, rules.longest_days) if rules else USUAL_DAYS,
    }
    return render(request, "shares/list.html", context)


@never_cache
@require_http_methods(["GET", "POST"])
@asks(Act.SHARE)
def new(request: TeamRequest) -> HttpResponse:
    """By GET the form and what a guest would see of `?kind=&id=`; by POST the link, shown this once."""
    kind, thing = _wanted(request)
    rules = open_rules(request)
    title = kind.suggest(thing)[:TITLE_LIMIT]
    given = request.POST if request.method == "POST" else request.GET if "title" in request.GET else None
    form = ShareForm(rules, given, initial={"title": title})
    scope = form.scope
    demand_scope_of(request, scope)
    if given is not None and form.is_valid():
        title = form.cleaned_data["title"]
        if request.method == "POST":
            return _made(request, kind, thing, form)
    result = _result(kind, thing, title, scope)
    context = shown(result) | {
        "form": form,
        "kind": kind,
        "thing": thing,
        "name": kind.name(thing),
        "address": kind.address(thing),
        "listed": listed(result),
        "scope": scope,
        "may_share_code": may(request.role, Act.SHARE_CODE),
        "is_live": form.is_bound and form.data.get("state") == "live",
        "preview_until": timezone.now() + timedelta(days=_days(form, rules)),
    }
    return render(request, "shares/new.html", context, status=422 if form.errors else 200)


def open_rules(request: TeamRequest) -> TeamSharing:
    """What the team allows.

    Raises:
        PermissionDenied: a switch over links is off.
    """
    rules = TeamSharing.of(request.team) if request.team else TeamSharing()
    if not (rules.is_open and SiteSharing.allows()):
        raise PermissionDenied("Sharing is switched off. An admin can switch it on under Settings, Sharing.")
    return rules


def demand_scope_of(request: TeamRequest, scope: Scope) -> None:
    """Refuse code and transcripts to who may not publish them."""
    if scope.code or scope.transcript:
        demand(request.role, Act.SHARE_CODE)


def _days(form: ShareForm, rules: TeamSharing) -> int:
    usual = min(USUAL_DAYS, rules.longest_days)
    return int(form.cleaned_data.get("days", usual)) if form.is_bound else usual


def _wanted(request: TeamRequest) -> tuple[Kind[Any], Any]:
    """The kind and the thing that the address or the form names, of the present team.

    Raises:
        Http404: there is none.
    """
    words = request.POST if request.method == "POST" else request.GET
    kind, word = KINDS.get(words.get("kind", "")), words.get("id", "")
    if request.team is None or kind is None or not word.isdecimal() or len(word) > LONGEST_ID:
        raise Http404
    thing = kind.find(request.team.pk, int(word))
    if thing is None:
        raise Http404
    return kind, thing


def _result(kind: Kind[Any], thing: Any, title: str, scope: Scope) -> Result:
    try:
        return kind.result(thing, title, scope)
    except ValueError as error:
        raise Http404(str(error)) from error


def _made(request: TeamRequest, kind: Kind[Any], thing: Any, form: ShareForm) -> HttpResponse:
    """Save the link and show its address."""
    row, link, result = make(request, kind, thing, form)
    return render(request, "shares/made.html", {"row": row, "link": link, "listed": listed(result)})


def make(request: TeamRequest, kind: Kind[Any], thing: Any, form: ShareForm) -> tuple[Share, str, Result]:
    """Save the link of a valid form; its row, its address, this once, and what guests see.

    Raises:
        Http404: the thing cannot be shown.
    """
    given = form.cleaned_data
    result = _result(kind, thing, given["title"], form.scope)
    is_live = given["state"] == "live"
    row = Share(
        team=request.team,
        created_by=request.user if isinstance(request.user, User) else None,
        kind=kind.word,
        thing_id=thing.pk,
        thing=kind.name(thing)[:100],
        address=kind.address(thing)[:200],
        title=given["title"],
        has_tree=form.scope.tree,
        has_code=form.scope.code,
        has_transcript=form.scope.transcript,
        is_live=is_live,
        document=None if is_live else result.dump(),
        revision=revision_of(result),
        version=kind.version(thing)[:100],
        expires_at=timezone.now() + timedelta(days=given["days"]),
    )
    with transaction.atomic():
        token = row.issue()
        audit.record(request, "share", row, after=_told(row))
    return row, request.build_absolute_uri(reverse("shares:page", args=[token])), result


def _told(row: Share) -> dict[str, str]:
    """What the audit trail keeps of a link."""
    words = {"structures": row.has_tree, "code": row.has_code, "transcript": row.has_transcript}
    scope = ", ".join(["results", *(word for word, is_there in words.items() if is_there)])
    state = "live" if row.is_live else "frozen"
    return {"scope": scope, "state": state, "until": f"{row.expires_at:%Y-%m-%d %H:%M}"}


def revision_of(result: Result) -> str:
    """Content hash of what is shown, whenever it was taken."""
    document = result.dump()
    document.pop("taken_at")
    return content_hash(document)


@require_POST
@asks(Act.SHARE)
def revoke(request: TeamRequest, share_id: int) -> HttpResponse:
    """End a link at once; of many who do so together, one does, and that one is on the trail."""
    row = own_share(request, share_id)
    if end(request, row):
        messages.info(request, f"The link to {row.thing} does not work any more.")
    else:
        messages.info(request, f"The link to {row.thing} had ended before.")
    return redirect("shares:shares")


def end(request: TeamRequest, row: Share) -> bool:
    """Revoke a link; False when it had ended before."""
    with transaction.atomic():
        is_done = Share.objects.revoke(row.pk)
        if is_done:
            audit.record(request, "revoke share", row)
    return is_done


@require_POST
@asks(Act.SHARE)
def extend(request: TeamRequest, share_id: int) -> HttpResponse:
    """Let a link that still works end `days` from now; an ended one stays ended."""
    row = own_share(request, share_id)
    if row.needs_maintainer:
        demand(request.role, Act.SHARE_CODE)
    longest = TeamSharing.of(row.team).longest_days
    word = request.POST.get("days", "")
    days = int(word) if word.isdecimal() and len(word) < 5 else 0
    if not 1 <= days <= longest:
        messages.error(request, f"A link can be extended by 1 to {longest} days.")
        return redirect("shares:shares")
    until = timezone.now() + timedelta(days=days)
    is_done = lengthen(request, row, until)
    if is_done:
        messages.success(request, f"The link to {row.thing} works until {until:%Y-%m-%d %H:%M} UTC.")
    else:
        messages.info(request, f"The link to {row.thing} has ended, or ends later already.")
    return redirect("shares:shares")


def lengthen(request: TeamRequest, row: Share, until: datetime) -> bool:
    """Move the end of a link; False when it has ended, or ends later already."""
    with transaction.atomic():
        is_done = Share.objects.extend(row.pk, until)
        if is_done:
            before, after = ({"until": f"{at:%Y-%m-%d %H:%M}"} for at in (row.expires_at, until))
            audit.record(request, "extend share", row, before=before, after=after)
    return is_done


def own_share(request: TeamRequest, share_id: int) -> Share:
    """The link, when it is the team's; others do not learn that it exists."""
    rows = Share.objects.of_team(request.team).select_related("team").defer("document")
    return get_object_or_404(rows, pk=share_id)
