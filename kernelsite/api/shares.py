"""Links by which people without an account see results."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

from django.db import transaction
from django.http import Http404
from django.utils import timezone
from ninja import Query, Router, Status

from kernelsite.accounts import audit
from kernelsite.accounts.models import Scope
from kernelsite.accounts.roles import Act, demand
from kernelsite.api import records
from kernelsite.api.auth import demand_act, demand_scope
from kernelsite.api.paging import Before, Limit, newest
from kernelsite.api.problems import ConflictError
from kernelsite.api.schemas import ExtendBody, ShareBody, SharePage, SharingBody
from kernelsite.api.searches import checked
from kernelsite.compare.models import SavedSet
from kernelsite.searches.models import Structure
from kernelsite.shares import switches, views
from kernelsite.shares.forms import RulesForm, ShareForm
from kernelsite.shares.kinds import KINDS
from kernelsite.shares.models import Share, SiteSharing, TeamSharing

if TYPE_CHECKING:
    from django.db.models import QuerySet

router = Router(tags=["shares"])


@router.get("/shares", response=SharePage, url_name="shares")
def shares(
    request: Any,
    limit: Limit = 50,
    before: Before = None,
    ended: Annotated[bool, Query(description="also those that have ended")] = False,
) -> dict[str, Any]:
    """The team's links, newest first."""
    demand_scope(request, Scope.READ)
    rows = Share.objects.of_team(request.team).defer("document")
    return newest(rows if ended else rows.unended(), limit, before, _share)


def _share(row: Share) -> dict[str, Any]:
    return {name: getattr(row, name) for name in records.ShareAnswer.model_fields}


@router.post("/shares", response={201: records.NewShareAnswer}, url_name="make_share")
def make(request: Any, body: ShareBody) -> Status[Any]:
    """Make a link to a search, structure, comparison, saved set or release; its address is shown this once."""
    demand_act(request, Act.SHARE)
    rules = views.open_rules(request)
    kind = KINDS[body.kind]
    thing = kind.find(request.team.pk, _number(request, body.kind, str(body.thing)))
    if thing is None:
        raise Http404
    form = ShareForm(rules, body.model_dump() | {"title": body.title or kind.suggest(thing)[:200]})
    checked(form)
    views.demand_scope_of(request, form.scope)
    row, link, _ = views.make(request, kind, thing, form)
    return Status(201, _share(row) | {"link": link})


def _number(request: Any, kind: str, name: str) -> int:
    """Primary key of the thing that a person calls so; 0 finds nothing."""
    if kind == "set":
        return _pk(SavedSet.objects.filter(team=request.team, slug=name))
    if kind == "structure":
        search, _, number = name.upper().removeprefix("ST-").partition(".")
        if not (_is_number(search) and _is_number(number)):
            return 0
        return _pk(
            Structure.objects.filter(search__team=request.team, search=int(search), number=int(number))
        )
    word = name.upper().removeprefix("S-").removeprefix("CMP-").removeprefix("R-")
    return int(word) if _is_number(word) else 0


def _pk(rows: QuerySet[Any]) -> int:
    return rows.values_list("pk", flat=True).first() or 0


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdecimal() and len(word) <= 12


@router.delete("/shares/{int:share_id}", response={204: None}, url_name="end_share")
def end(request: Any, share_id: int) -> Status[None]:
    """Revoke a link at once; revoking twice is no error."""
    demand_act(request, Act.SHARE)
    views.end(request, views.own_share(request, share_id))
    return Status(204, None)


@router.post("/shares/{int:share_id}/extend", response=records.ShareAnswer, url_name="extend_share")
def extend(request: Any, share_id: int, body: ExtendBody) -> dict[str, Any]:
    """Let a link that still works end so many days from now; 409 when it has ended or ends later already."""
    demand_act(request, Act.SHARE)
    row = views.own_share(request, share_id)
    if row.needs_maintainer:
        demand(request.role, Act.SHARE_CODE)
    longest = TeamSharing.of(request.team).longest_days
    if body.days > longest:
        raise ConflictError(f"the rules of the team allow at most {longest} days")
    if not views.lengthen(request, row, timezone.now() + timedelta(days=body.days)):
        raise ConflictError("the link has ended, or ends later already")
    return _share(views.own_share(request, share_id))


@router.get("/sharing", response=records.SharingAnswer, url_name="sharing")
def sharing(request: Any) -> dict[str, Any]:
    """What the team allows, and the switch over the site."""
    demand_scope(request, Scope.READ)
    rules = TeamSharing.of(request.team)
    told = {"is_open": rules.is_open, "longest_days": rules.longest_days}
    return told | {"is_site_open": SiteSharing.allows()}


@router.put("/sharing", response=records.SharingAnswer, url_name="set_sharing")
def set_sharing(request: Any, body: SharingBody) -> dict[str, Any]:
    """Change what the team allows; switched off, none of its links opens."""
    demand_act(request, Act.KEEP_SHARING)
    row = TeamSharing.of(request.team)
    before = switches.told(row)
    form = RulesForm(body.model_dump(), instance=row)
    checked(form)
    with transaction.atomic():
        form.save()
        audit.record(request, "set sharing rules", row, before=before, after=switches.told(row))
    return sharing(request)
