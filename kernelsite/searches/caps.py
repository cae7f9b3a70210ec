"""Moving the caps on tokens and money of a running search, over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from kernelsite.accounts.models import Membership, Role
from kernelsite.endpoints.models import ModelEndpoint
from kernelsite.searches import events, holds
from kernelsite.searches.models import Search

if TYPE_CHECKING:
    from typing import Any

    from django.http import HttpResponse

    from kernelsite.accounts.middleware import TeamRequest


class CapsForm(forms.Form):
    """The caps as they shall be; an empty field is no cap."""

    tokens = forms.IntegerField(required=False, min_value=1, max_value=2 * 10**9)
    cost_usd = forms.FloatField(required=False, min_value=0.0)

    def __init__(self, search: Search, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.search = search

    def clean(self) -> dict[str, Any]:
        """One cap must stay, and one on money needs prices."""
        data = super().clean() or {}
        if not self.errors and data["tokens"] is None and data["cost_usd"] is None:
            raise forms.ValidationError("Keep a cap on tokens or on money.")
        if data.get("cost_usd") is not None:
            for row in ModelEndpoint.objects.filter(pk__in=[each["id"] for each in self.search.endpoints]):
                if row.record_without_key.prices is None:
                    raise forms.ValidationError(f"{row.name} has no price today, so money cannot be capped.")
        return data


@require_POST
def move(request: TeamRequest, search_id: int) -> HttpResponse:
    """Extend or lower the caps; the change stands in the event log with its author."""
    search = get_object_or_404(Search.objects.of_team(request.team), pk=search_id)
    membership = Membership.objects.filter(team=search.team_id, user=request.user.pk)
    if not membership.exclude(role=Role.VIEWER).exists():
        raise PermissionDenied("viewers watch; ask an administrator of the team for a member's role")
    form = CapsForm(search, request.POST)
    if search.is_final:
        messages.warning(request, f"{search.short} is over; its caps do not move any more.")
    elif not form.is_valid():
        for errors in form.errors.values():
            messages.error(request, " ".join(map(str, errors)))
    else:
        with events.locked(search.pk) as row:
            holds.move_caps(row, **form.cleaned_data, who=request.user.get_username())
        messages.success(request, "The caps are moved; the next call is held against them.")
    response = redirect("calls:list", search.pk)
    response.status_code = 303
    return response
