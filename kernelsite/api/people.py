"""The team: who is in it, tokens, and the audit trail."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

from django.core.exceptions import PermissionDenied
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from ninja import Query, Router, Status

from kernelsite.accounts import people, tokens
from kernelsite.accounts.activity import FILTERS
from kernelsite.accounts.models import ApiToken, AuditEntry, Invitation, Membership, Scope
from kernelsite.accounts.roles import Act
from kernelsite.api import records
from kernelsite.api.auth import demand_act, demand_scope
from kernelsite.api.paging import Before, Limit, newest
from kernelsite.api.schemas import ActivityPage, InvitationBody, RoleBody, TokenBody
from kernelsite.api.searches import checked

Word = Annotated[str, Query(max_length=150)]

router = Router(tags=["team"])


@router.get("/me", response=records.SelfAnswer, url_name="me")
def me(request: Any) -> dict[str, Any]:
    """Whom the token stands for and what it may; every token may ask this."""
    return {
        "user": request.user.get_username(),
        "team": request.team.slug,
        "role": request.role,
        "scopes": request.token_scopes,
        "token": request.token_prefix,
    }


@router.get("/team", response=records.TeamAnswer, url_name="team")
def team(request: Any) -> dict[str, Any]:
    """Members and open invitations."""
    demand_scope(request, Scope.READ)
    members = request.team.memberships.select_related("user").order_by("user__username")
    return {
        "slug": request.team.slug,
        "name": request.team.name,
        "members": [_member(row) for row in members],
        "invitations": [_invitation(row) for row in request.team.invitations.open()],
    }


def _member(row: Membership) -> dict[str, Any]:
    return {"id": row.pk, "user": row.user.get_username(), "role": row.role, "joined_at": row.joined_at}


def _invitation(row: Invitation) -> dict[str, Any]:
    return {"id": row.pk, "email": row.email, "role": row.role, "expires_at": row.expires_at}


@router.post("/team/invitations", response={201: records.NewInvitationAnswer}, url_name="invite")
def invite(request: Any, body: InvitationBody) -> Status[Any]:
    """Invite somebody; a second invitation of the same address takes the place of the first."""
    demand_act(request, Act.KEEP_TEAM)
    form = people.InvitationForm(body.model_dump())
    checked(form)
    secret = people.send_invitation(request, form.instance)
    link = request.build_absolute_uri(reverse("accounts:accept", args=[secret]))
    return Status(201, _invitation(form.instance) | {"link": link})


@router.delete("/team/invitations/{int:invitation_id}", response={204: None}, url_name="take_back_invitation")
def take_back(request: Any, invitation_id: int) -> Status[None]:
    """Take an invitation back."""
    demand_act(request, Act.KEEP_TEAM)
    row = get_object_or_404(Invitation.objects.open().filter(team=request.team), pk=invitation_id)
    people.take_back(request, row)
    return Status(204, None)


@router.patch("/team/members/{int:member_id}", response=records.MemberAnswer, url_name="change_member")
def change_member(request: Any, member_id: int, body: RoleBody) -> dict[str, Any]:
    """Give a member another role; the last admin stays one."""
    demand_act(request, Act.KEEP_TEAM)
    return _member(people.move_member(request, member_id, body.role))


@router.delete("/team/members/{int:member_id}", response={204: None}, url_name="remove_member")
def remove_member(request: Any, member_id: int) -> Status[None]:
    """Remove a member; tokens of the person in this team end with it."""
    demand_act(request, Act.KEEP_TEAM)
    people.move_member(request, member_id, "removed")
    return Status(204, None)


@router.get("/tokens", response=list[records.TokenAnswer], url_name="tokens")
def list_tokens(request: Any) -> list[dict[str, Any]]:
    """One's own tokens; for admins those of the whole team."""
    demand_scope(request, Scope.READ)
    return [_token(row) for row in tokens.visible(request)]


def _token(row: ApiToken) -> dict[str, Any]:
    names = ("id", "name", "scopes", "prefix", "created_at", "expires_at", "last_used_at", "is_live")
    return {name: getattr(row, name) for name in names} | {"user": row.user.get_username()}


@router.post("/tokens", response={201: records.NewTokenAnswer}, url_name="make_token")
def make_token(request: Any, body: TokenBody) -> Status[Any]:
    """Make a token that can do no more and lives no longer than this one; its secret is shown this once."""
    demand_scope(request, Scope.TEAM)
    parent: ApiToken = request.auth
    if more := sorted(set(body.scopes) - set(parent.scopes)):
        raise PermissionDenied(f"this token lacks the scope {more[0]} and cannot hand it on")
    until = min(parent.expires_at, timezone.now() + timedelta(days=body.days))
    secret, row = tokens.make(request, body.name, [str(scope) for scope in body.scopes], until)
    return Status(201, _token(row) | {"token": secret})


@router.delete("/tokens/{int:token_id}", response={204: None}, url_name="end_token")
def end_token(request: Any, token_id: int) -> Status[None]:
    """Revoke a token at once; revoking twice is no error. Every token may revoke itself."""
    if token_id != request.auth.pk:
        demand_scope(request, Scope.TEAM)
    tokens.end(request, token_id)
    return Status(204, None)


@router.get("/activity", response=ActivityPage, url_name="activity")
def activity(  # one parameter per filter
    request: Any, limit: Limit = 50, before: Before = None, actor: Word = "", verb: Word = "", kind: Word = ""
) -> dict[str, Any]:
    """The audit trail, newest first."""
    demand_scope(request, Scope.READ)
    words = dict(zip(FILTERS, (actor, verb, kind), strict=True))
    rows = AuditEntry.objects.of_team(request.team)
    found = rows.filter(**{name: word for name, word in words.items() if word})
    return newest(found, limit, before, _entry)


def _entry(row: AuditEntry) -> dict[str, Any]:
    return {name: getattr(row, name) for name in records.ActivityAnswer.model_fields}
