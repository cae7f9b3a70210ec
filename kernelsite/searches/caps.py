"""Moving the caps on tokens and money of a running search, over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import forms
from django.contrib import messages
from django.db import transaction
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from kernelsite.accounts import audit
from kernelsite.accounts.roles import Act, asks
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
@asks(Act.EXTEND)
def move(request: TeamRequest, search_id: int) -> HttpResponse:
    """Extend or lower the caps; the change stands in the event log with its author."""
    search = get_object_or_404(Search.objects.of_team(request.team), pk=search_id)
    form = CapsForm(search, request.POST)
    if search.is_final:
        messages.warning(request, f"{search.short} is over; its caps do not move any more.")
    elif not form.is_valid():
        for errors in form.errors.values():
            messages.error(request, " ".join(map(str, errors)))
    else:
        move_caps(request, search, form.cleaned_data)
        messages.success(request, "The caps are moved; the next call is held against them.")
    response = redirect("calls:list", search.pk)
    response.status_code = 303
    return response


def move_caps(request: TeamRequest, search: Search, caps: dict[str, Any]) -> None:
    """Move the caps to checked values and put it on the audit trail."""
    before = {"tokens": search.tokens_cap, "cost_usd": search.cost_usd_cap}
    with transaction.atomic():
        with events.locked(search.pk) as row:
            holds.move_caps(row, **caps, who=request.user.get_username())
        audit.record(request, "extend", search, before=before, after=caps)
