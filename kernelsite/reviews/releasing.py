"""From an approved review to its release, in the transaction of the approval that completes the quorum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils import timezone

from kernelsite.accounts.models import Team
from kernelsite.catalog.templatetags.show import speedup
from kernelsite.reviews.gates import gates
from kernelsite.reviews.models import Entry, EntryKind, Release, Review, ReviewState, TeamRules
from kernelsite.reviews.standing import approvals, objections

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from kernelsite.reviews.subject import Subject


def needed(subject: Subject) -> int:
    """Approvals that make a release; a team of one cannot have more than one."""
    return 1 if subject.is_solo else TeamRules.quorum_of(subject.review.team)


def release_if_due(subject: Subject, user: User) -> Release | None:
    """Release when enough people approve, nobody stands against it and every gate is green."""
    approved = approvals(subject)
    if len(approved) < needed(subject) or objections(subject):
        return None
    if not all(gate.is_green for _, gate in gates(subject)):
        return None
    # The caller holds the review locked; the condition is for a caller that does not.
    opened = Review.objects.filter(pk=subject.review.pk, state=ReviewState.OPEN)
    if not opened.update(state=ReviewState.APPROVED):
        return None
    row = _release(subject, approved)
    Entry.objects.create(
        review=subject.review,
        kind=EntryKind.RELEASED,
        by=user,
        revision=subject.revision,
        evaluation=subject.evaluation,
        proposer_id=subject.review.proposed_by_id,
        reviser_id=subject.revision.made_by_id,
        text=row.name,
        key=f"release {row.pk}",
    )
    return row


def _release(subject: Subject, approved: list[Entry]) -> Release:
    candidate, evaluation, record = subject.candidate, subject.evaluation, subject.promoted
    if evaluation is None or record is None or record.speedup is None or record.median_us is None:
        raise ValueError(f"{subject.review.short} has no evaluation to release")  # the gates were green
    workload = candidate.search.workload
    # Two reviews of one workload may end at once, and each release has a number of its own.
    team = Team.objects.select_for_update().get(pk=subject.review.team_id)
    row = Release(
        team=team,
        review=subject.review,
        workload=workload,
        slug=workload.slug,
        number=Release.objects.filter(team=team, slug=workload.slug).count() + 1,
        candidate=candidate,
        evaluation=evaluation,
        content_hash=subject.revision.content_hash,
        title=candidate.structure.title,
        license=subject.review.license,
        device_class=candidate.search.device_class,
        device=record.environment.device[:200],
        speedup=record.speedup.value,
        low=record.speedup.low,
        high=record.speedup.high,
        median_us=record.median_us,
        baseline=evaluation.baseline,
        proposed_by=subject.review.proposed_by.get_username(),
        approved_by=sorted({entry.by.get_username() for entry in approved}),
        is_solo=any(entry.is_solo for entry in approved),
    )
    row.citation = _citation(row)
    row.save(force_insert=True)
    return row


def _citation(row: Release) -> str:
    """One line that says what was approved, how fast it is against what, and how to know it again."""
    title = row.title.replace("_", " ")[:200]
    fast = f"{speedup(row.speedup)} ({speedup(row.low)} to {speedup(row.high)}) against {row.baseline}"
    people = f"proposed by {row.proposed_by}, approved by {', '.join(row.approved_by)}"[:250]
    year = timezone.now().year
    return f"{row.team.name} ({year}). {row.name}: {title}. {fast} on {row.device}; {people}. sha256:{row.content_hash}"
