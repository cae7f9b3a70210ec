"""The review gate of a search: its structures as stage 1 left them, and a reviewer's form."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from django.contrib import messages
from django.db import transaction
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from kernelsite.accounts import audit
from kernelsite.accounts.roles import Act, demand, may
from kernelsite.searches import gate
from kernelsite.searches.gate import GateError
from kernelsite.searches.models import Search
from search.review import Ruling, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.contrib.auth.models import User
    from django.http import HttpResponse

    from kernelsite.accounts.middleware import TeamRequest
    from kernelsite.searches.models import Structure

WORDS = {Verdict.RETAINED: "retain", Verdict.DROPPED: "drop", Verdict.PROBED: "more probes"}
MOST_PROBES = 64


@dataclass(frozen=True)
class Row:
    """A structure with what the form says of it."""

    structure: Structure
    is_proposed: bool
    """The strategy itself would keep it."""
    verdict: str
    reason: str
    probes: str


@require_http_methods(["GET", "POST"])
def gate_page(request: TeamRequest, search_id: int) -> HttpResponse:
    """Show what is to be decided, or decide."""
    rows = Search.objects.of_team(request.team).select_related("workload", "library")
    search = get_object_or_404(rows, pk=search_id)
    if request.method == "GET":
        return _page(request, search)
    demand(request.role, Act.REVIEW)
    try:
        rulings = _rulings(search, request.POST)
        decide(request, search, rulings, request.POST.get("key", "")[:60])
    except GateError as error:
        return _page(request, search, f"{error}.", status=422)
    messages.success(request, f"{search.short} goes on.")
    return redirect(search)


def decide(request: TeamRequest, search: Search, rulings: list[Ruling], key: str) -> None:
    """Take a decision and put it on the audit trail, both or neither.

    Raises:
        GateError: the search is not at its gate, or the decision does not fit.
    """
    with transaction.atomic():
        user = cast("User", request.user)
        row, is_new = gate.decide(search.pk, rulings, user, key or secrets.token_urlsafe(12))
        if is_new:
            told = {each.structure: each.verdict.value for each in row.record.rulings}
            audit.record(request, "decide at the gate", search, after=told)


def _rulings(search: Search, post: Mapping[str, str]) -> list[Ruling]:
    """What the form says.

    Raises:
        GateError: a verdict without a reason, or a number that is none.
    """
    common = post.get("reason", "").strip()
    found = [_ruling(row, post, common) for row in working(search) if post.get(f"v{row.number}")]
    if choice := post.get("add", ""):
        found.append(gate.added(search, choice, post.get("add_reason", "").strip() or common))
    if not found:
        raise GateError("nothing is decided: retain a structure, or ask for more")
    return found


def _ruling(row: Structure, post: Mapping[str, str], common: str) -> Ruling:
    verdict, reason = post.get(f"v{row.number}", ""), post.get(f"r{row.number}", "").strip() or common
    if verdict not in WORDS:
        raise GateError(f"structure {row.key}: there is no verdict {verdict[:20]}")
    if not reason:
        raise GateError(f"structure {row.key}: say why it is {verdict}")
    word = post.get(f"p{row.number}", "").strip()
    probes = int(word) if word.isdecimal() and len(word) < 4 else 0
    if verdict == Verdict.PROBED and not 1 <= probes <= MOST_PROBES:
        raise GateError(f"structure {row.key}: ask for 1 to {MOST_PROBES} probes")
    return Ruling(
        structure=row.fingerprint,
        verdict=Verdict(verdict),
        reason=reason[:500],
        probes=probes if verdict == Verdict.PROBED else 0,
    )


def working(search: Search) -> list[Structure]:
    """Structures of which a program works, the fastest first."""
    rows = search.structures.filter(passed_count__gt=0).select_related("parent")
    return sorted(rows, key=lambda row: (-(row.best_speedup or 0.0), row.number))


def _page(request: TeamRequest, search: Search, problem: str = "", status: int = 200) -> HttpResponse:
    context = {
        "search": search,
        "rows": _rows(request, search),
        "broken": search.structures.filter(passed_count=0).order_by("number"),
        "extensions": gate.extensions(search) if search.is_at_gate else [],
        "decisions": [
            (row, _told(row.record.rulings, search)) for row in search.decisions.order_by("-number")
        ],
        "words": WORDS,
        "most": MOST_PROBES,
        "may_review": may(request.role, Act.REVIEW),
        "problem": problem,
        "typed": request.POST,
        "key": secrets.token_urlsafe(12),
    }
    return render(request, "reviews/gate.html", context, status=status)


def _rows(request: TeamRequest, search: Search) -> list[Row]:
    proposed = gate.proposed(search) if search.is_at_gate else ()
    post = request.POST
    rows = []
    for row in working(search):
        is_proposed = row.fingerprint in proposed
        first = Verdict.RETAINED.value if is_proposed else ""
        verdict = post.get(f"v{row.number}", "") if post else first
        rows.append(
            Row(row, is_proposed, verdict, post.get(f"r{row.number}", ""), post.get(f"p{row.number}", "4"))
        )
    return rows


def _told(rulings: tuple[Ruling, ...], search: Search) -> list[tuple[Ruling, Structure | None]]:
    known = {row.fingerprint: row for row in search.structures.all()}
    return [(ruling, known.get(ruling.structure)) for ruling in rulings]
