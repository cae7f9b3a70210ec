"""The one way to write to the audit trail. Call it in the transaction of the change, or before a change that has none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernelsite.accounts.addresses import client_address
from kernelsite.accounts.models import AuditEntry, Team

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.contrib.auth.models import User
    from django.db.models import Model
    from django.http import HttpRequest

    from kernelsite.accounts.middleware import TeamRequest


def record(
    request: TeamRequest,
    verb: str,
    thing: Model,
    *,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    reason: str = "",
) -> None:
    """Write that the person of a request did something to a thing of the present team; values are plain JSON."""
    if request.team is not None:
        write(request, request.team, verb, thing, {"before": before, "after": after, "reason": reason})


def write_of_person(request: HttpRequest, user: User, verb: str) -> None:
    """Write into the trail of each of a person's teams what they did to their account while not logged in."""
    for team in Team.objects.filter(memberships__user=user):
        AuditEntry.objects.create(
            team_id=team.pk,
            actor_id=user.pk,
            actor=user.get_username()[:150],
            verb=verb,
            kind=str(user._meta.verbose_name)[:40],
            object_id=user.pk,
            name=str(user)[:200],
            address=client_address(request),
        )


def write(request: TeamRequest, team: Team, verb: str, thing: Model, told: Mapping[str, Any]) -> None:
    """The same for a team that is not the present one: an invitation is accepted from outside."""
    AuditEntry.objects.create(
        team_id=team.pk,
        actor_id=request.user.pk,
        actor=request.user.get_username()[:150],
        token=getattr(request, "token_prefix", ""),
        verb=verb,
        kind=str(thing._meta.verbose_name)[:40],
        object_id=thing.pk,
        name=str(thing)[:200],
        before=told.get("before") or {},
        after=told.get("after") or {},
        reason=(told.get("reason") or "")[:500],
        address=client_address(request),
    )
