"""The page of one review: what is proposed, its code line by line, gates, decisions, timeline."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from kernelsite.accounts.roles import Act, may
from kernelsite.reviews.deeds import CHECKLIST, ReviewError, best_of, present
from kernelsite.reviews.gates import gates
from kernelsite.reviews.models import Entry, EntryKind, Review
from kernelsite.reviews.models.review import FACTS
from kernelsite.reviews.releasing import needed
from kernelsite.reviews.standing import Stand, approvals, objections, stands
from kernelsite.reviews.subject import Subject
from kernelsite.searches.pages.differences import difference
from kernelsite.searches.pages.sources import shown_sources

if TYPE_CHECKING:
    from django.http import HttpResponse
    from django.utils.safestring import SafeString

    from kernelsite.accounts.middleware import TeamRequest
    from kernelsite.searches.models import Candidate
    from kernelsite.searches.pages.sources import ShownSource


@dataclass(frozen=True)
class Line:
    """A line of a source with what people said of it."""

    number: int
    text: SafeString
    comments: list[Entry]


@dataclass(frozen=True)
class File:
    """A source whose lines can be commented on."""

    source: ShownSource
    lines: list[Line]


@dataclass(frozen=True)
class Event:
    """A line of the timeline."""

    entry: Entry
    stand: Stand | None
    is_outdated: bool
    """It speaks of an earlier revision."""


@require_GET
def review(request: TeamRequest, review_id: int) -> HttpResponse:
    """A review as it stands now."""
    return render_review(request, own_review(request, review_id))


def own_review(request: TeamRequest, review_id: int) -> Review:
    """The review, when it is the team's."""
    rows = Review.objects.of_team(request.team).select_related(*FACTS, "team", "release")
    return get_object_or_404(rows, pk=review_id)


def render_review(request: TeamRequest, row: Review, *, problem: str = "", status: int = 200) -> HttpResponse:
    """The page; after a deed that was refused, with the reason and what was typed."""
    subject = Subject(row)
    context = {
        "review": row,
        "subject": subject,
        "candidate": subject.candidate,
        "search": subject.candidate.search,
        "record": subject.promoted,
        "problem": problem,
        "typed": request.POST,
        "key": secrets.token_urlsafe(12),
    }
    context |= _code(request, subject) | _decision(request, subject) | _people(request, subject)
    return render(request, "reviews/review.html", context, status=status)


def _code(request: TeamRequest, subject: Subject) -> dict[str, Any]:
    last = subject.last_release
    spoken: dict[tuple[str, int], list[Entry]] = {}
    for entry in subject.entries:
        if entry.line is not None and entry.revision_id == subject.revision.pk:
            spoken.setdefault((entry.path, entry.line), []).append(entry)
    return {
        "files": [_file(source, spoken) for source in shown_sources(subject.candidate)],
        "paths": [file["path"] for file in subject.candidate.source.files],
        "last": last,
        "difference": _against(request, subject.candidate, last.candidate) if last else None,
        "at_line": _line_of(request),
    }


def _file(source: ShownSource, spoken: dict[tuple[str, int], list[Entry]]) -> File:
    lines = [
        Line(number, text, spoken.get((source.path, number), []))
        for number, text in enumerate(source.lines, start=1)
    ]
    return File(source, lines)


def _line_of(request: TeamRequest) -> str:
    """The line to comment on: the one that was typed, or that the address names on a page without scripts."""
    word = request.POST.get("line", "") or request.GET.get("line", "")
    return word if word.isdecimal() and len(word) < 6 else ""


def _against(request: TeamRequest, candidate: Candidate, base: Candidate) -> dict[str, Any]:
    return difference(candidate, request.team, base.key, whole=False, beside=False)


def _decision(request: TeamRequest, subject: Subject) -> dict[str, Any]:
    looked = gates(subject)
    return {
        "gates": looked,
        "is_green": all(gate.is_green for _, gate in looked),
        "present": present(subject),
        "checklist": CHECKLIST,
        "may_judge": subject.review.is_open and subject.may_judge(request.user.pk or 0),
        "may_review": may(request.role, Act.REVIEW),
        "may_speak": may(request.role, Act.PROPOSE),
        "may_dismiss": subject.review.is_open and may(request.role, Act.DISMISS),
        "is_author": (request.user.pk or 0) in subject.authors,
        "newer": _newer(subject),
    }


def _newer(subject: Subject) -> Candidate | None:
    """The structure's best candidate, when that is another one by now."""
    try:
        best = best_of(subject.review.structure)
    except ReviewError:
        return None
    return best if subject.review.is_open and best.pk != subject.candidate.pk else None


def _people(request: TeamRequest, subject: Subject) -> dict[str, Any]:
    found = stands(subject)
    return {
        "approved": approvals(subject),
        "objected": objections(subject),
        "needed": needed(subject),
        "stands": [stand for stand in found.values() if stand.why_not != "overtaken"],
        "timeline": [
            Event(entry, found.get(entry.pk), entry.revision_id != subject.revision.pk)
            for entry in subject.entries
        ],
        "kinds": EntryKind,
    }
