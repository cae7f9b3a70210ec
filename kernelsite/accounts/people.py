"""Page of a team: its members, their roles, invitations; and the switch between the teams of a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import Http404
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from kernelsite.accounts import audit, bell
from kernelsite.accounts.middleware import CHOSEN
from kernelsite.accounts.models import Invitation, Membership, Role, Team
from kernelsite.accounts.roles import NEEDS, Act, asks, may

if TYPE_CHECKING:
    from django.http import HttpResponse

    from kernelsite.accounts.middleware import TeamRequest


class LastAdminError(Exception):
    """The change would leave a team without an admin."""


class InvitationForm(forms.ModelForm):  # type: ignore[type-arg]  # no subscript at run time
    """Whom to invite, as what."""

    class Meta:
        model = Invitation
        fields = ("email", "role")
        labels = {"email": "E-mail address"}


@never_cache
@require_GET
def team(request: TeamRequest) -> HttpResponse:
    """Everybody in the team sees who is in it; admins change it."""
    return _page(request, InvitationForm())


def _page(request: TeamRequest, form: InvitationForm, *, link: str = "", status: int = 200) -> HttpResponse:
    if request.team is None:
        return render(request, "searches/no_team.html", status=403)
    context = {
        "members": request.team.memberships.select_related("user").order_by("user__username"),
        "invitations": request.team.invitations.open(),
        "roles": Role.choices,
        "acts": [(act, Role(role).label) for act, role in NEEDS.items()],
        "teams": Team.objects.filter(memberships__user=request.user.pk),
        "may_change": may(request.role, Act.KEEP_TEAM),
        "form": form,
        "link": link,
    }
    return render(request, "accounts/team.html", context, status=status)


@never_cache
@require_POST
@asks(Act.KEEP_TEAM)
def invite(request: TeamRequest) -> HttpResponse:
    """Make an invitation and show its link, this once."""
    form = InvitationForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=422)
    token = send_invitation(request, form.instance)
    link = request.build_absolute_uri(reverse("accounts:accept", args=[token]))
    return _page(request, InvitationForm(), link=link)


def send_invitation(request: TeamRequest, row: Invitation) -> str:
    """Write an invitation and return its secret. A second one of the same person takes the place of the first."""
    assert request.team is not None  # a role is a role in a team
    row.team = request.team
    row.created_by_id = request.user.pk or 0
    with transaction.atomic():
        for old in Invitation.objects.open().filter(team=request.team, email__iexact=row.email):
            take_back(request, old)
        token = row.issue()
        audit.record(request, "invite", row, after={"role": row.role})
    return token


@require_POST
@asks(Act.KEEP_TEAM)
def revoke(request: TeamRequest, invitation_id: int) -> HttpResponse:
    """Take an invitation back."""
    row = get_object_or_404(Invitation.objects.open().filter(team=request.team), pk=invitation_id)
    with transaction.atomic():
        take_back(request, row)
    messages.info(request, f"The invitation of {row.email} is taken back.")
    return redirect("team:team")


def take_back(request: TeamRequest, row: Invitation) -> None:
    """Revoke an invitation."""
    Invitation.objects.revoke(row.pk)
    audit.record(request, "take back", row)


@require_POST
@asks(Act.KEEP_TEAM)
def change(request: TeamRequest, member_id: int) -> HttpResponse:
    """Give a member another role, or remove the member; the last admin stays."""
    role = request.POST.get("role", "")
    if role not in {*Role.values, "removed"}:
        raise Http404
    try:
        row = move_member(request, member_id, role)
    except LastAdminError as error:
        messages.error(request, str(error))
        return redirect("team:team")
    messages.success(
        request, f"{row.user} is {'no longer in the team' if role == 'removed' else f'{role} now'}."
    )
    return redirect("team:team")


def move_member(request: TeamRequest, member_id: int, role: str) -> Membership:
    """Give a member another role, or take the place away with `removed`.

    Raises:
        LastAdminError: the team would have no admin.
        Http404: no such member.
    """
    with transaction.atomic():
        # The lock on the team keeps two admins from demoting each other at the same moment.
        held = Team.objects.select_for_update().get(pk=request.team.pk if request.team else 0)
        row = get_object_or_404(held.memberships.select_related("user"), pk=member_id)
        if row.role == Role.ADMIN and role != Role.ADMIN and _is_last_admin(row):
            raise LastAdminError("A team needs an admin: make somebody else one first.")
        _change(request, row, role)
    return row


def _is_last_admin(row: Membership) -> bool:
    others = Membership.objects.filter(team=row.team_id, role=Role.ADMIN, user__is_active=True)
    return not others.exclude(pk=row.pk).exists()


def _change(request: TeamRequest, row: Membership, role: str) -> None:
    before = {"role": row.role}
    bell.ring_later(row.user_id)
    if role == "removed":
        audit.record(request, "remove", row, before=before)
        row.delete()
        return
    row.role = role
    row.save(update_fields=["role"])
    audit.record(request, "change role", row, before=before, after={"role": role})


@require_POST
def switch(request: TeamRequest) -> HttpResponse:
    """Work in another of one's teams."""
    word = request.POST.get("team", "")
    own = Membership.objects.filter(user=request.user.pk or 0)
    place = get_object_or_404(own, team=int(word) if word.isdecimal() and len(word) < 12 else 0)
    request.session[CHOSEN] = place.team_id
    return redirect("searches:home")
