"""What people do with a review. Each deed locks the review first, so that of two at once the second sees the first.

Every form carries a key of its own: the same key again gives the first entry and changes nothing.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.db import transaction
from django.utils import timezone

from kernelsite.reviews.gates import gates
from kernelsite.reviews.models import Entry, EntryKind, Review, ReviewState, Revision
from kernelsite.reviews.models.entry import DECISIONS, SUBJECT_LIMIT
from kernelsite.reviews.releasing import release_if_due
from kernelsite.reviews.standing import stands
from kernelsite.reviews.subject import Subject
from kernelsite.searches import beside
from kernelsite.searches.keys import read_key
from kernelsite.searches.models import Candidate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from django.contrib.auth.models import User

    from kernelsite.searches.models import Structure
    from search.records import Purpose

CHECKLIST = {
    "correctness": "The evidence of correctness covers every case, and the tolerances are fit for the purpose.",
    "independent": "The re-measurement is independent and agrees.",
    "contract": "The program does what its structure says, and nothing besides.",
    "licence": "Where the source comes from is known, and the licence fits.",
    "readability": "Somebody else can read and keep it.",
}


class ReviewError(Exception):
    """The deed is not possible; the message is for people."""


@dataclass(frozen=True)
class Said:
    """What a form says."""

    user: User
    key: str
    """Idempotency key."""
    text: str = ""
    path: str = ""
    line: int | None = None
    checked: tuple[str, ...] = ()
    seen: str = ""
    """`present` of the subject when the page was drawn: nobody decides on what they have not seen."""
    more: Mapping[str, str] = field(default_factory=dict)
    """What one deed alone reads: `clause`, `decision`, `purpose`, `candidate`."""


def present(subject: Subject) -> str:
    """Names what a decision would be about: the revision and the evaluation."""
    return f"{subject.revision.number}-{subject.evaluation.pk if subject.evaluation else 0}"


@contextmanager
def _held(review_id: int, said: Said) -> Iterator[tuple[Subject, Entry | None]]:
    """The review, locked, and what the same key brought before."""
    with transaction.atomic():
        review = Review.objects.select_for_update().get(pk=review_id)
        known = review.entries.filter(by=said.user, key=said.key).first()
        yield Subject(review), known
        if known is None:
            Review.objects.filter(pk=review_id).update(moved_at=timezone.now())


def _open(subject: Subject) -> None:
    if not subject.review.is_open:
        raise ReviewError(f"{subject.review.short} is {subject.review.state}: nothing changes it any more")


def _write(subject: Subject, kind: EntryKind, said: Said, /, **more: Any) -> Entry:
    row = Entry.objects.create(
        review=subject.review,
        kind=kind,
        by=said.user,
        revision=subject.revision,
        proposer_id=subject.review.proposed_by_id,
        reviser_id=subject.revision.made_by_id,
        text=said.text,
        key=said.key,
        **{"evaluation": subject.evaluation, **more},
    )
    subject.__dict__.pop("entries", None)  # read again, with this one
    return row


def propose(structure: Structure, said: Said, license_: str) -> tuple[Review, bool]:
    """Propose a structure's best candidate; where it is proposed already, that review.

    Raises:
        ReviewError: no candidate of the structure passed, or it was released already.
    """
    search = structure.search
    candidate = best_of(structure)
    if released := candidate.releases.filter(team=search.team).first():
        raise ReviewError(f"C-{candidate.key} is released already, as {released.name}")
    with transaction.atomic():
        review, is_new = Review.objects.get_or_create(
            structure=structure,
            state=ReviewState.OPEN,
            defaults={
                "team_id": search.team_id,
                "proposed_by": said.user,
                "note": said.text,
                "license": license_,
            },
        )
        if is_new:
            _revision(review, candidate, said.user)
            _write(Subject(review), EntryKind.PROPOSED, said)
    return review, is_new


def best_of(structure: Structure) -> Candidate:
    """The structure's best candidate.

    Raises:
        ReviewError: none passed.
    """
    place = read_key(structure.best_candidate)
    rows = Candidate.objects.select_related("structure")
    row = rows.filter(structure=structure, number=place.number).first() if place else None
    if row is None:
        raise ReviewError("No candidate of this structure has passed, so there is nothing to propose")
    return row


def _revision(review: Review, candidate: Candidate, user: User) -> Revision:
    number = review.revisions.count() + 1
    return Revision.objects.create(
        review=review, number=number, candidate=candidate, content_hash=candidate.hash, made_by=user
    )


def revise(review_id: int, candidate: Candidate, said: Said) -> tuple[Entry, bool]:
    """Propose another candidate of the same structure; approvals of the earlier one are stale from here on.

    Raises:
        ReviewError: the review is closed, or the candidate is proposed already or of another structure.
    """
    with _held(review_id, said) as (subject, known):
        if known:
            return known, False
        _open(subject)
        if candidate.structure_id != subject.review.structure_id:
            raise ReviewError("that candidate is of another structure; propose that one by itself")
        if candidate.pk == subject.candidate.pk:
            raise ReviewError(f"C-{candidate.key} is what is proposed now")
        _revision(subject.review, candidate, said.user)
        return _write(Subject(subject.review), EntryKind.REVISED, said), True


def measure(review_id: int, purpose: Purpose, said: Said) -> tuple[Entry, bool]:
    """Have a device measure what is proposed; a new promotion-tier evaluation makes approvals stale.

    Raises:
        ReviewError: the review is closed.
    """
    with _held(review_id, said) as (subject, known):
        if known:
            return known, False
        _open(subject)
        evaluation, _ = beside.measure(subject.candidate, purpose)
        asked = subject.review.entries.filter(kind=EntryKind.MEASURED, evaluation=evaluation).first()
        if asked:
            return asked, False
        return _write(Subject(subject.review), EntryKind.MEASURED, said, evaluation=evaluation), True


def comment(review_id: int, said: Said) -> tuple[Entry, bool]:
    """Say something, about a line or about the whole; also after the end.

    Raises:
        ReviewError: nothing is said, or the line is not there.
    """
    with _held(review_id, said) as (subject, known):
        if known:
            return known, False
        if not said.text:
            raise ReviewError("a comment needs a text")
        _check_line(subject, said)
        return _write(subject, EntryKind.COMMENTED, said, path=said.path, line=said.line), True


def _check_line(subject: Subject, said: Said) -> None:
    if said.line is None and not said.path:
        return
    files = {file["path"]: file["content"] for file in subject.candidate.source.files}
    if said.path not in files or not 1 <= (said.line or 0) <= files[said.path].count("\n") + 1:
        raise ReviewError(f"there is no line {said.line} in {said.path or 'the source'}")


def decide(review_id: int, kind: EntryKind, said: Said) -> tuple[Entry, bool]:
    """Approve, or ask for changes. The approval that completes the quorum makes the release.

    Raises:
        ReviewError: closed, not this person's to decide, not seen as it stands, or something stands against it.
    """
    with _held(review_id, said) as (subject, known):
        if known:
            return known, False
        _open(subject)
        if standing := _same_stand(subject, kind, said):
            return standing, False
        if not subject.may_judge(said.user.pk):
            raise ReviewError("nobody decides on their own proposal; somebody else in the team has to")
        if said.seen != present(subject):
            raise ReviewError("what is proposed has changed since this page was drawn; look at it again")
        _check_line(subject, said)
        if kind == EntryKind.APPROVED:
            _check_approval(subject, said)
        elif not said.text:
            raise ReviewError("say what has to change")
        solo = kind == EntryKind.APPROVED and said.user.pk in subject.authors
        row = _write(subject, kind, said, is_solo=solo, checked=list(said.checked))
        release_if_due(Subject(subject.review), said.user)
        return row, True


def _same_stand(subject: Subject, kind: EntryKind, said: Said) -> Entry | None:
    """The person's approval that counts already: approving twice is approving once."""
    if kind != EntryKind.APPROVED:
        return None
    own = [
        each.entry for each in stands(subject).values() if each.counts and each.entry.by_id == said.user.pk
    ]
    return next((row for row in own if row.kind == kind), None)


def _check_approval(subject: Subject, said: Said) -> None:
    against = [f"{name}: {gate.text}" for name, gate in gates(subject) if not gate.is_green]
    if against:
        raise ReviewError(f"a gate is not green. {' '.join(against)}")
    if missing := CHECKLIST.keys() - set(said.checked):
        raise ReviewError(f"tick every point of the check-list: {', '.join(sorted(missing))} left")


def acknowledge(review_id: int, clause: str, said: Said) -> tuple[Entry, bool]:
    """Vouch for a clause that the judge could not decide, for this revision.

    Raises:
        ReviewError: without a reason, on one's own proposal, or no such clause waits.
    """
    with _held(review_id, said) as (subject, known):
        if known:
            return known, False
        _open(subject)
        if not subject.may_judge(said.user.pk):
            raise ReviewError("nobody vouches for their own proposal")
        if clause not in {text for _, gate in gates(subject) for text in gate.unsettled}:
            raise ReviewError("no such clause waits for a person")
        if not said.text:
            raise ReviewError("say why the clause holds")
        return _write(subject, EntryKind.ACKNOWLEDGED, said, subject=clause[:SUBJECT_LIMIT]), True


def dismiss(review_id: int, decision_id: int, said: Said) -> tuple[Entry, bool]:
    """Take somebody's decision out of the count, with a reason; the decision itself stays to be read.

    Raises:
        ReviewError: no reason, no such decision, or it does not count anyway.
    """
    with _held(review_id, said) as (subject, known):
        if known:
            return known, False
        _open(subject)
        stand = stands(subject).get(decision_id)
        if stand is None or stand.entry.kind not in DECISIONS or stand.why_not not in ("", "stale"):
            raise ReviewError("there is no such decision to dismiss")
        if not said.text:
            raise ReviewError("say why it is dismissed")
        row = _write(subject, EntryKind.DISMISSED, said, about=stand.entry)
        release_if_due(Subject(subject.review), said.user)
        return row, True


def withdraw(review_id: int, said: Said) -> tuple[Entry, bool]:
    """Take the proposal back.

    Raises:
        ReviewError: it is closed.
    """
    with _held(review_id, said) as (subject, known):
        if known:
            return known, False
        _open(subject)
        Review.objects.filter(pk=review_id, state=ReviewState.OPEN).update(state=ReviewState.WITHDRAWN)
        return _write(subject, EntryKind.WITHDRAWN, said), True
