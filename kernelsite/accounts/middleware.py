"""`request.team` and `request.role`: the team that the logged-in user works in, and what they are in it.

`request.profile` is how the site looks to them; times of the page are in its zone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpRequest
from django.utils import timezone

from kernelsite.accounts.models import Membership, Profile, Role, Team
from kernelsite.accounts.session_store import note_sight

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpResponse

CHOSEN = "team"
"""Key of the session under which the switch keeps a team's number."""


class TeamRequest(HttpRequest):
    """A request after this middleware, for annotations."""

    team: Team | None
    role: Role | None
    profile: Profile


def team(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware; stands after Django's authentication."""

    def with_team(request: HttpRequest) -> HttpResponse:
        place = _place(request)
        request.team = place.team if place else None  # type: ignore[attr-defined]  # makes it a TeamRequest
        request.role = Role(place.role) if place else None  # type: ignore[attr-defined]
        profile = Profile.objects.of(place.user if place else request.user)
        request.profile = profile  # type: ignore[attr-defined]
        if request.user.is_authenticated:
            note_sight(request)
        with timezone.override(profile.zone):
            return get_response(request)

    return with_team


def _place(request: HttpRequest) -> Membership | None:
    """The membership that was chosen, else the first one; a choice that was taken away is passed over."""
    if not request.user.is_authenticated:
        return None
    places = list(
        Membership.objects.filter(user=request.user.pk).select_related("team", "user__profile").order_by("id")
    )
    chosen = request.session.get(CHOSEN) if len(places) > 1 else None
    return next((place for place in places if place.team_id == chosen), places[0] if places else None)
