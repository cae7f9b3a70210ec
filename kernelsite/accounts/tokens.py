"""Page of API tokens: one's own, and for admins those of the whole team."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django import forms
from django.contrib import messages
from django.contrib.auth import get_user_model
from django.db import transaction
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from kernelsite.accounts import audit
from kernelsite.accounts.models import ApiToken, Scope
from kernelsite.accounts.models.token import LONGEST, PER_MINUTE
from kernelsite.accounts.roles import Act, may

if TYPE_CHECKING:
    from datetime import datetime

    from django.db.models import QuerySet
    from django.http import HttpResponse

    from kernelsite.accounts.middleware import TeamRequest


class TokenForm(forms.Form):
    """A new token."""

    name = forms.CharField(max_length=80, help_text="Where it will be used, e.g. nightly benchmark")
    days = forms.IntegerField(min_value=1, max_value=LONGEST.days, initial=90, label="Valid for, in days")
    scopes = forms.MultipleChoiceField(
        choices=Scope.choices, initial=[Scope.READ], widget=forms.CheckboxSelectMultiple
    )


@never_cache
@require_GET
def tokens(request: TeamRequest) -> HttpResponse:
    """List of tokens, and the form for a new one."""
    return _page(request, TokenForm())


@never_cache
@require_POST
def new(request: TeamRequest) -> HttpResponse:
    """Make a token and show it, this once. It can never do more than the person."""
    form = TokenForm(request.POST)
    if request.team is None or not form.is_valid():
        return _page(request, form, status=422)
    wanted = form.cleaned_data
    until = timezone.now() + timedelta(days=wanted["days"])
    text, _ = make(request, wanted["name"], wanted["scopes"], until)
    return _page(request, TokenForm(), text=text)


def make(request: TeamRequest, name: str, scopes: list[str], until: datetime) -> tuple[str, ApiToken]:
    """A new token of the request's person in its team; its secret, this once."""
    assert request.team is not None  # the caller has looked
    user = get_user_model().objects.get(pk=request.user.pk or 0)
    row = ApiToken(team=request.team, user=user, name=name, scopes=scopes, expires_at=until)
    with transaction.atomic():
        text = row.issue()
        told = {"scopes": ", ".join(row.scopes), "until": f"{row.expires_at:%Y-%m-%d}"}
        audit.record(request, "add token", row, after=told)
    return text, row


@require_POST
def revoke(request: TeamRequest, token_id: int) -> HttpResponse:
    """End a token at once; revoking twice is no error."""
    row = end(request, token_id)
    messages.info(request, f"{row} does not work any more.")
    return redirect("team:tokens")


def end(request: TeamRequest, token_id: int) -> ApiToken:
    """Revoke a token that the person may see."""
    row = get_object_or_404(visible(request), pk=token_id)
    if row.revoked_at is None:
        row.revoked_at = timezone.now()
        with transaction.atomic():
            row.save(update_fields=["revoked_at"])
            audit.record(request, "revoke token", row)
    return row


def visible(request: TeamRequest) -> QuerySet[ApiToken]:
    """One's own tokens; admins see those of the whole team."""
    rows = ApiToken.objects.filter(team=request.team).select_related("user")
    return rows if may(request.role, Act.REVOKE_TOKENS) else rows.filter(user=request.user.pk or 0)


def _page(request: TeamRequest, form: TokenForm, *, text: str = "", status: int = 200) -> HttpResponse:
    if request.team is None:
        return render(request, "searches/no_team.html", status=403)
    context = {"tokens": visible(request), "form": form, "text": text, "per_minute": PER_MINUTE}
    return render(request, "accounts/tokens.html", context, status=status)
