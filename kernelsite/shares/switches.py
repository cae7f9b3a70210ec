"""Settings of sharing: what a team allows, and the switch over every link of the site."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from kernelsite.accounts import audit
from kernelsite.accounts.roles import Act, asks, may
from kernelsite.shares.forms import RulesForm
from kernelsite.shares.models import Share, SiteSharing, TeamSharing

if TYPE_CHECKING:
    from django.http import HttpResponse

    from kernelsite.accounts.middleware import TeamRequest


@never_cache
@require_GET
def sharing(request: TeamRequest) -> HttpResponse:
    """The rules; admins change them."""
    if request.team is None:
        return render(request, "searches/no_team.html", status=403)
    return _page(request, RulesForm(instance=TeamSharing.of(request.team)))


def _page(request: TeamRequest, form: RulesForm, status: int = 200) -> HttpResponse:
    context = {
        "form": form,
        "rules": TeamSharing.of(request.team) if request.team else None,
        "site": SiteSharing.the(),
        "is_operator_open": settings.SHARING,
        "working": Share.objects.of_team(request.team).unended().count(),
        "may_change": may(request.role, Act.KEEP_SHARING),
    }
    return render(request, "shares/settings.html", context, status=status)


@require_POST
@asks(Act.KEEP_SHARING)
def set_rules(request: TeamRequest) -> HttpResponse:
    """Change what the team allows. Links that exist keep their ends; switched off, none of them opens."""
    if request.team is None:
        return render(request, "searches/no_team.html", status=403)
    row = TeamSharing.of(request.team)
    before = told(row)
    form = RulesForm(request.POST, instance=row)
    if not form.is_valid():
        return _page(request, form, status=422)
    with transaction.atomic():
        form.save()
        audit.record(request, "set sharing rules", row, before=before, after=told(row))
    messages.success(request, f"Links of the team are {'open' if row.is_open else 'closed'}.")
    return redirect("shares:settings")


def told(row: TeamSharing) -> dict[str, Any]:
    """What the audit trail keeps of a team's rules."""
    return {"open": row.is_open, "longest days": row.longest_days}


@require_POST
@asks(Act.KEEP_SHARING)
def set_site(request: TeamRequest) -> HttpResponse:
    """Close every link of the site at once, or open them again; an admin of any team may."""
    is_open = request.POST.get("open") == "yes"
    with transaction.atomic():
        row, _ = SiteSharing.objects.select_for_update().get_or_create(pk=1)
        before, row.is_open = row.is_open, is_open
        row.save()
        audit.record(request, "switch sharing", row, before={"open": before}, after={"open": is_open})
    messages.info(request, f"All share links of the site are {'open' if is_open else 'closed'}.")
    return redirect("shares:settings")
