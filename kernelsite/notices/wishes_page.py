"""Page of a person's own wishes: event by channel, quiet hours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import messages
from django.contrib.auth import get_user_model
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from kernelsite.accounts.models import Profile
from kernelsite.notices.models import Channel, Event, Wishes

if TYPE_CHECKING:
    from django.http import HttpResponse

    from kernelsite.accounts.middleware import TeamRequest

CLOCK = forms.TimeInput(attrs={"type": "time"}, format="%H:%M")
EVENTS = [event for event in Event if event is not Event.TEST]


class WishesForm(forms.ModelForm):  # type: ignore[type-arg]  # no subscript at run time
    """The matrix is one box per event and channel, named `search.finished:mail`."""

    class Meta:
        model = Wishes
        fields = ("all_searches", "quiet_from", "quiet_until")
        labels = {
            "all_searches": "Also of searches that others started",
            "quiet_from": "No e-mail from",
            "quiet_until": "until",
        }
        widgets = {"quiet_from": CLOCK, "quiet_until": CLOCK}

    def clean(self) -> dict[str, Any]:
        """Quiet hours have both ends or none."""
        data = super().clean() or {}
        if not self.errors and (data["quiet_from"] is None) != (data["quiet_until"] is None):
            raise forms.ValidationError("Quiet hours need a beginning and an end.")
        return data

    def save(self, commit: bool = True) -> Wishes:
        """Keep every box as it is, so that a later default does not change what was chosen."""
        self.instance.choices = {
            event: {channel: _name(event, channel) in self.data for channel in Channel} for event in EVENTS
        }
        row: Wishes = super().save(commit)
        return row


@never_cache
@require_http_methods(["GET", "POST"])
def wishes(request: TeamRequest) -> HttpResponse:
    """Show and save; a person's own affair, so the trail does not tell it."""
    user = get_user_model().objects.get(pk=request.user.pk or 0)
    row = Wishes.objects.of(user)
    form = WishesForm(request.POST if request.method == "POST" else None, instance=row)
    if request.method == "POST" and form.is_valid():
        form.save()
        messages.success(request, "Saved.")
        return redirect("notices:settings")
    context = {
        "form": form,
        "matrix": [(event, [_box(row, form, event, channel) for channel in Channel]) for event in EVENTS],
        "channels": Channel,
        "email": user.email,
        "zone": Profile.objects.of(user).time_zone,
    }
    return render(request, "notices/wishes.html", context, status=422 if form.errors else 200)


def _name(event: Event, channel: Channel) -> str:
    return f"{event}:{channel}"


def _box(row: Wishes, form: WishesForm, event: Event, channel: Channel) -> tuple[str, str, bool]:
    """Name, label and state of one box."""
    name = _name(event, channel)
    on = name in form.data if form.is_bound else row.wants(event, channel)
    return name, f"{event.label}, {channel.label.lower()}", on
