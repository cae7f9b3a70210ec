"""Page behind the link of an invitation, for people with an account and for those without."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib.auth import get_user_model, login
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import UserCreationForm
from django.db import transaction
from django.http import Http404
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from kernelsite.accounts import audit
from kernelsite.accounts.middleware import CHOSEN
from kernelsite.accounts.models import Invitation, Membership
from kernelsite.accounts.roles import Act, may, role_in
from kernelsite.accounts.session_store import note_place

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from django.http import HttpResponse

    from kernelsite.accounts.middleware import TeamRequest


class AccountForm(UserCreationForm):  # type: ignore[type-arg]  # subscripts only for the checker
    """Name and password of a new account; its e-mail address is the invitation's."""

    class Meta:
        model = get_user_model()
        fields = ("username",)


@sensitive_post_parameters()
@never_cache
@login_not_required
@require_http_methods(["GET", "POST"])
def accept(request: TeamRequest, token: str) -> HttpResponse:
    """Show what the invitation is for; by POST, use it up. Used, expired and unknown links look alike."""
    row = Invitation.objects.find(token)
    if row is None or not may(role_in(row.team, row.created_by), Act.KEEP_TEAM):
        raise Http404
    if request.user.is_authenticated:
        return _with_account(request, row)
    taken = get_user_model().objects.filter(email__iexact=row.email).exists()
    form = AccountForm(request.POST or None)
    if request.method == "POST" and not taken and form.is_valid():
        user = form.save(commit=False)
        user.email = row.email
        with transaction.atomic():
            user.save()
            _join(request, row, user)
        return redirect("searches:home")
    return _page(request, row, form, taken=taken)


def _with_account(request: TeamRequest, row: Invitation) -> HttpResponse:
    user = get_user_model().objects.get(pk=request.user.pk or 0)
    is_meant = user.email.casefold() == row.email.casefold()
    if request.method == "POST" and is_meant:
        with transaction.atomic():
            _join(request, row, user)
        return redirect("searches:home")
    return _page(request, row, None, taken=not is_meant)


def _page(request: TeamRequest, row: Invitation, form: AccountForm | None, *, taken: bool) -> HttpResponse:
    context = {"invitation": row, "form": form, "taken": taken}
    refused = request.method == "POST"
    response = render(request, "accounts/invited.html", context, status=422 if refused else 200)
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


def _join(request: TeamRequest, row: Invitation, user: User) -> None:
    """Use the invitation up; a role that the person has already stays.

    Raises:
        Http404: another request was faster; the caller's transaction takes everything back.
    """
    if not Invitation.objects.accept(row.pk):
        raise Http404
    Membership.objects.get_or_create(team=row.team, user=user, defaults={"role": row.role})
    if not request.user.is_authenticated:
        login(request, user)
        note_place(request)
    request.session[CHOSEN] = row.team_id
    audit.write(request, row.team, "join", row, {"after": {"role": row.role}})
