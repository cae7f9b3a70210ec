"""`request.team`: the team that the logged-in user works in, None for a stranger or somebody without a team."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpRequest

from kernelsite.accounts.models import Team

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpResponse


class TeamRequest(HttpRequest):
    """A request after this middleware, for annotations."""

    team: Team | None


def team(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware; stands after Django's authentication."""

    def with_team(request: HttpRequest) -> HttpResponse:
        request.team = Team.objects.of(request.user)  # type: ignore[attr-defined]  # makes it a TeamRequest
        return get_response(request)

    return with_team
