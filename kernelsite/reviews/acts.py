"""Forms of a review's page: one route, one written list of what can be done there and who may."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, cast

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from kernelsite.accounts import audit
from kernelsite.accounts.roles import Act, demand, may
from kernelsite.reviews import deeds, news
from kernelsite.reviews.deeds import ReviewError, Said
from kernelsite.reviews.models import EntryKind
from kernelsite.reviews.page import own_review, render_review
from kernelsite.searches.keys import read_key
from kernelsite.searches.models import Candidate, Structure
from kernelsite.searches.pages.structure import own_structure
from search.records import Purpose

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.contrib.auth.models import User
    from django.http import HttpResponse

    from kernelsite.accounts.middleware import TeamRequest
    from kernelsite.reviews.models import Entry, Review

TEXT_LIMIT = 4000
LICENSES = ("Apache-2.0", "MIT", "BSD-3-Clause", "MPL-2.0", "LicenseRef-Proprietary")


def _comment(request: TeamRequest, review: Review, said: Said) -> tuple[Entry, bool]:
    return deeds.comment(review.pk, said)


def _approve(request: TeamRequest, review: Review, said: Said) -> tuple[Entry, bool]:
    return deeds.decide(review.pk, EntryKind.APPROVED, said)


def _changes(request: TeamRequest, review: Review, said: Said) -> tuple[Entry, bool]:
    return deeds.decide(review.pk, EntryKind.CHANGES, said)


def _acknowledge(request: TeamRequest, review: Review, said: Said) -> tuple[Entry, bool]:
    return deeds.acknowledge(review.pk, said.more.get("clause", ""), said)


def _dismiss(request: TeamRequest, review: Review, said: Said) -> tuple[Entry, bool]:
    return deeds.dismiss(review.pk, _number(said.more.get("decision", "")), said)


def _measure(request: TeamRequest, review: Review, said: Said) -> tuple[Entry, bool]:
    purpose = said.more.get("purpose", "")
    if purpose not in (Purpose.PROMOTE, Purpose.REMEASURE):
        raise Http404
    return deeds.measure(review.pk, Purpose(purpose), said)


def _revise(request: TeamRequest, review: Review, said: Said) -> tuple[Entry, bool]:
    place = read_key(said.more.get("candidate", "").strip().lower().removeprefix("c-")[:60])
    rows = Candidate.objects.filter(structure=review.structure_id).select_related("structure")
    row = rows.filter(number=place.number).first() if place else None
    if place is None or row is None or row.key.split(".")[:2] != [str(place.search), str(place.structure)]:
        raise ReviewError("there is no such candidate of this structure; write an id such as C-1.3.002")
    return deeds.revise(review.pk, row, said)


def _withdraw(request: TeamRequest, review: Review, said: Said) -> tuple[Entry, bool]:
    if review.proposed_by_id != request.user.pk and not may(request.role, Act.DISMISS):
        raise PermissionDenied("Whoever proposed it may withdraw it, and maintainers.")
    return deeds.withdraw(review.pk, said)


DEEDS: dict[str, tuple[Act, Callable[[TeamRequest, Review, Said], tuple[Entry, bool]]]] = {
    "comment": (Act.PROPOSE, _comment),
    "revise": (Act.PROPOSE, _revise),
    "measure": (Act.PROPOSE, _measure),
    "withdraw": (Act.PROPOSE, _withdraw),
    "approve": (Act.REVIEW, _approve),
    "changes": (Act.REVIEW, _changes),
    "acknowledge": (Act.REVIEW, _acknowledge),
    "dismiss": (Act.DISMISS, _dismiss),
}
"""Last word of the address → who may, and what it does."""


@require_POST
def act(request: TeamRequest, review_id: int, deed: str) -> HttpResponse:
    """Do it and put it on the audit trail, both or neither; what is refused is said on the page."""
    row = own_review(request, review_id)
    try:
        entry = perform(request, row, deed, said_of(request, deed))
    except ReviewError as error:
        return render_review(request, own_review(request, review_id), problem=f"{error}.", status=422)
    return redirect(f"{row.get_absolute_url()}#e{entry.pk}")


def perform(request: TeamRequest, row: Review, deed: str, said: Said) -> Entry:
    """Do a deed and put it on the audit trail, both or neither; the same key again gives the first entry.

    Raises:
        PermissionDenied: the person may not.
        ReviewError: the deed is not possible.
    """
    least, do = DEEDS[deed]
    demand(request.role, least)
    with transaction.atomic():
        entry, is_new = do(request, row, said)
        if is_new:
            after = {"entry": entry.kind, "revision": entry.revision.number}
            audit.record(request, deed, row, after=after, reason=entry.text)
            news.tell(entry)
    return entry


def said_of(request: TeamRequest, deed: str) -> Said:
    """What a form says, cut to what is kept; its buttons share a key, and each deed has its own with it."""
    post = request.POST
    return Said(
        user=cast("User", request.user),
        key=f"{deed} {post.get('key', '') or secrets.token_urlsafe(12)}"[:60],
        text=post.get("text", "").strip()[:TEXT_LIMIT],
        path=post.get("path", "")[:200] if post.get("line") else "",
        line=_number(post.get("line", "")) if post.get("line") else None,
        checked=tuple(point for point in deeds.CHECKLIST if point in post.getlist("checked")),
        seen=post.get("seen", ""),
        more=post.dict(),
    )


def _number(text: str) -> int:
    word = text.strip()
    return int(word) if word.isdecimal() and len(word) < 10 else 0


@require_http_methods(["GET", "POST"])
def propose(request: TeamRequest, key: str) -> HttpResponse:
    """Propose a structure's best candidate for approval."""
    structure = own_structure(request, key)
    demand(request.role, Act.PROPOSE)
    if request.method == "GET":
        return _propose_page(request, structure)
    license_ = request.POST.get("license", "")
    if license_ not in LICENSES:
        return _propose_page(request, structure, "Choose a licence from the list.")
    try:
        review, is_new = put_forward(request, structure, said_of(request, "propose"), license_)
    except ReviewError as error:
        return _propose_page(request, structure, f"{error}.")
    if not is_new:
        messages.info(request, f"It is proposed already, by {review.proposed_by}.")
    return redirect(review)


def put_forward(request: TeamRequest, structure: Structure, said: Said, license_: str) -> tuple[Review, bool]:
    """Propose a structure's best candidate; where it is proposed already, that review.

    Raises:
        ReviewError: there is nothing to propose.
    """
    with transaction.atomic():
        review, is_new = deeds.propose(structure, said, license_)
        if is_new:
            audit.record(request, "propose", review, after={"candidate": review.revision.candidate.key})
            news.asked(review)
    return review, is_new


def _propose_page(request: TeamRequest, structure: Structure, problem: str = "") -> HttpResponse:
    try:
        best, none = deeds.best_of(structure), ""
    except ReviewError as error:
        best, none = None, f"{error}."
    context: dict[str, Any] = {
        "structure": structure,
        "search": structure.search,
        "best": best,
        "problem": problem or none,
        "licenses": LICENSES,
        "typed": request.POST,
        "key": secrets.token_urlsafe(12),
    }
    return render(request, "reviews/propose.html", context, status=422 if problem else 200)
