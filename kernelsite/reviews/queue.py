"""The queue of reviews, the way to the next one, and the team's quorum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.contrib import messages
from django.core.paginator import Paginator
from django.db import transaction
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from kernelsite.accounts import audit
from kernelsite.accounts.roles import Act, asks, may
from kernelsite.reviews.gates import gates
from kernelsite.reviews.models import Release, Review, TeamRules
from kernelsite.reviews.models.review import FACTS
from kernelsite.reviews.models.rules import MOST
from kernelsite.reviews.releasing import needed
from kernelsite.reviews.standing import approvals, objections
from kernelsite.reviews.subject import Subject
from kernelsite.reviews.waiting import at_gate, waiting_for

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import HttpResponse

    from kernelsite.accounts.middleware import TeamRequest
    from kernelsite.reviews.gates.gate import Gate

SHOWS = {"me": "Waiting for me", "mine": "By me", "all": "All"}
PAGE_SIZE = 25


@dataclass(frozen=True)
class Row:
    """A review as the queue shows it."""

    subject: Subject
    gates: list[tuple[str, Gate]]
    approved: int
    needed: int
    objected: int

    @property
    def flags(self) -> list[str]:
        """Names of gates that are red."""
        return [name for name, gate in self.gates if gate.colour == "red"]


@require_GET
def queue(request: TeamRequest) -> HttpResponse:
    """Reviews and searches that wait, by whose turn it is."""
    if request.team is None:
        return render(request, "searches/no_team.html", status=403)
    show = request.GET.get("show", "me" if may(request.role, Act.REVIEW) else "all")
    show = show if show in SHOWS else "all"
    page = Paginator(_rows(request, show).select_related(*FACTS), PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "show": show,
        "shows": SHOWS,
        "page": page,
        "rows": [_row(review) for review in page],
        "gated": at_gate(request.team) if show != "mine" else [],
        "may_review": may(request.role, Act.REVIEW),
        "may_rule": may(request.role, Act.KEEP_TEAM),
        "quorum": TeamRules.quorum_of(request.team),
        "most": MOST,
        "releases": Release.objects.of_team(request.team)[:8],
    }
    return render(request, "reviews/queue.html", context)


def _rows(request: TeamRequest, show: str) -> QuerySet[Review]:
    match show:
        case "me":
            return waiting_for(request.team, request.user.pk or 0, request.role)
        case "mine":
            return Review.objects.of_team(request.team).filter(proposed_by=request.user.pk)
        case _:
            return Review.objects.of_team(request.team)


def _row(review: Review) -> Row:
    subject = Subject(review)
    return Row(subject, gates(subject), len(approvals(subject)), needed(subject), len(objections(subject)))


@require_GET
def next_(request: TeamRequest) -> HttpResponse:
    """The next that waits for the person, after the one that the address names; then from the beginning."""
    after = request.GET.get("after", "")
    waiting = list(waiting_for(request.team, request.user.pk or 0, request.role).values_list("pk", flat=True))
    held = waiting.index(int(after)) if after.isdecimal() and int(after) in waiting else -1
    rest = [pk for pk in [*waiting[held + 1 :], *waiting[: max(held, 0)]] if str(pk) != after]
    if rest:
        return redirect("reviews:review", rest[0])
    if gated := at_gate(request.team).first() if may(request.role, Act.REVIEW) else None:
        return redirect("reviews:gate", gated.pk)
    messages.info(request, "Nothing else waits for you.")
    return redirect("reviews:queue")


@require_POST
@asks(Act.KEEP_TEAM)
def rules(request: TeamRequest) -> HttpResponse:
    """Change how many approvals the team asks for."""
    word = request.POST.get("quorum", "")
    if request.team is None or not word.isdecimal() or not 1 <= int(word[:3]) <= MOST:
        messages.error(request, f"Write a whole number from 1 to {MOST}.")
        return redirect("reviews:queue")
    with transaction.atomic():
        before = TeamRules.quorum_of(request.team)
        row, _ = TeamRules.objects.update_or_create(team=request.team, defaults={"quorum": int(word)})
        audit.record(request, "change quorum", row, before={"quorum": before}, after={"quorum": row.quorum})
    messages.success(request, f"A release needs {row.quorum} approval{'' if row.quorum == 1 else 's'} now.")
    return redirect("reviews:queue")
