"""Who hears of what happened in a review."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelsite.accounts.models import Role
from kernelsite.notices.models import Event
from kernelsite.notices.notify import notify
from kernelsite.reviews.models import EntryKind, Release, Review
from kernelsite.reviews.standing import stands
from kernelsite.reviews.subject import Subject

if TYPE_CHECKING:
    from kernelsite.reviews.models import Entry


def asked(review: Review) -> None:
    """Everybody who may decide hears of a proposal."""
    notify(
        review.team,
        Event.REVIEW_ASKED,
        f"{review.proposed_by} proposes {review.structure.title}",
        text=review.note,
        link=review.get_absolute_url(),
        key=f"review-{review.pk}-asked",
        to=Role.REVIEWER,
        actor=review.proposed_by_id,
    )


def tell(entry: Entry) -> None:
    """Whoever an entry concerns: the authors of a decision, reviewers whose approval went stale, all of a release."""
    match entry.kind:
        case EntryKind.APPROVED | EntryKind.CHANGES | EntryKind.DISMISSED:
            _decided(entry)
        case EntryKind.REVISED | EntryKind.MEASURED:
            _stale(entry)


def _decided(entry: Entry) -> None:
    review = entry.review
    word = entry.get_kind_display()
    people = {entry.proposer_id, entry.reviser_id, entry.about.by_id if entry.about else entry.proposer_id}
    _say(entry, Event.REVIEW_DECIDED, f"{entry.by} {word}: {review.structure.title}", people)
    if release := Release.objects.filter(review=review).first():
        title = f"{release.name} is released: {release.title}"
        link, key = release.get_absolute_url(), f"release-{release.pk}"
        notify(review.team, Event.RELEASE, title, text=release.citation, link=link, key=key)


def _stale(entry: Entry) -> None:
    """People whose approval does not count any more and who are to look again."""
    subject = Subject(Review.objects.get(pk=entry.review_id))
    people = {stand.entry.by_id for stand in stands(subject).values() if stand.why_not == "stale"}
    if people:
        title = f"Your approval is stale: {entry.review.structure.title}"
        _say(entry, Event.REVIEW_STALE, title, people)


def _say(entry: Entry, event: Event, title: str, people: set[int]) -> None:
    notify(
        entry.review.team,
        event,
        title,
        text=entry.text,
        link=entry.review.get_absolute_url(),
        key=f"review-entry-{entry.pk}",
        to=people,
        actor=entry.by_id,
    )
