"""What the frame of every page shows of searches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import template

from kernelsite.searches.commands import commands_of
from kernelsite.searches.models import Search
from kernelsite.searches.models.search import FINAL

if TYPE_CHECKING:
    from kernelsite.accounts.models import Team

register = template.Library()


@register.simple_tag(takes_context=True)
def running_count(context: template.Context) -> int:
    """Searches of the person's team that have not ended."""
    request: Any = context.get("request")
    team: Team | None = getattr(request, "team", None)
    return Search.objects.of_team(team).exclude(state__in=FINAL).count() if team else 0


@register.inclusion_tag("_as_commands.html", takes_context=True)
def as_commands(context: template.Context) -> dict[str, Any]:
    """The page as commands for a terminal; nothing on pages that have none."""
    request: Any = context.get("request")
    match = getattr(request, "resolver_match", None)
    if match is None or getattr(request, "team", None) is None:
        return {}
    found = commands_of(match.view_name, match.kwargs)
    return {"commands": found, "root": f"{request.scheme}://{request.get_host()}"} if found else {}
