"""What pages of other apps show of reviews: the badge, a structure's reviews, the best approved kernel of a workload."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import template

from kernelsite.accounts.roles import Act, may
from kernelsite.reviews.models import Release, Review
from kernelsite.reviews.waiting import count_for

if TYPE_CHECKING:
    from kernelsite.catalog.models import WorkloadVersion
    from kernelsite.searches.models import Structure

register = template.Library()


@register.simple_tag(takes_context=True)
def reviews_waiting(context: template.Context) -> int:
    """How much waits for the person who looks; counted once a request."""
    request: Any = context.get("request")
    if request is None or getattr(request, "team", None) is None:
        return 0
    if not hasattr(request, "_reviews_waiting"):
        request._reviews_waiting = count_for(request.team, request.user.pk, request.role)
    return int(request._reviews_waiting)


@register.inclusion_tag("reviews/_of_structure.html", takes_context=True)
def structure_reviews(context: template.Context, structure: Structure) -> dict[str, Any]:
    """State of a structure's reviews, and the way to a new one."""
    request: Any = context["request"]
    rows = list(Review.objects.of_team(request.team).filter(structure=structure).select_related("release"))
    is_open = any(row.is_open for row in rows)
    may_propose = may(request.role, Act.PROPOSE) and structure.best_speedup is not None and not is_open
    return {"reviews": rows, "structure": structure, "may_propose": may_propose}


@register.inclusion_tag("reviews/_rulings.html")
def gate_rulings(structure: Structure) -> dict[str, Any]:
    """What reviewers said of a structure at its search's gate, with their reasons; the latest last."""
    if not structure.search.record.stages.review:
        return {"rulings": []}
    return {
        "rulings": [
            (row, ruling)
            for row in structure.search.decisions.order_by("number")
            for ruling in row.record.rulings
            if ruling.structure == structure.fingerprint
        ]
    }


@register.inclusion_tag("reviews/_best_approved.html", takes_context=True)
def best_approved(context: template.Context, workload: WorkloadVersion) -> dict[str, Any]:
    """The fastest release of a workload version on each class of device."""
    request: Any = context["request"]
    rows = Release.objects.of_team(request.team).filter(workload=workload).order_by("-speedup", "id")
    best: dict[str, Release] = {}
    for row in rows:
        best.setdefault(row.device_class, row)
    return {"releases": list(best.values()), "count": len(rows), "workload": workload}
