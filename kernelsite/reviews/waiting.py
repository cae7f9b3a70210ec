"""What waits for whom: open reviews and searches at their gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Exists, OuterRef, Q, Subquery

from kernelsite.accounts.models import Membership, Role
from kernelsite.reviews.models import Entry, EntryKind, Review, ReviewState, Revision
from kernelsite.searches.models import AttemptState, Evaluation, Search
from search.records import Purpose, WaitReason

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from kernelsite.accounts.models import Team


def at_gate(team: Team | None) -> QuerySet[Search]:
    """Searches that wait for a reviewer's decision, the longest waiting first."""
    rows = Search.objects.of_team(team).filter(wait_reason=WaitReason.REVIEW)
    return rows.select_related("workload").order_by("gate_since")


def waiting_for(team: Team | None, user: int, role: Role | None) -> QuerySet[Review]:
    """Open reviews that a person may decide on and has not, as they stand now; the oldest first."""
    if team is None or role is None or not role.includes(Role.REVIEWER):
        return Review.objects.none()
    rows = Review.objects.of_team(team).filter(state=ReviewState.OPEN).annotate(**_present())
    # Somebody who is the whole team may decide on their own proposals.
    others = Membership.objects.filter(team=team, user__is_active=True).exclude(user=user)
    rows = rows.exclude(Q(Exists(others)), Q(proposed_by=user) | Q(revised_by=user))
    return rows.exclude(Exists(_answered(user))).order_by("moved_at", "id")


def _present() -> dict[str, Subquery]:
    """The revision, and its promotion-tier evaluation, that a decision would be about."""
    latest = Revision.objects.filter(review=OuterRef("pk")).order_by("-number")
    promoted = Evaluation.objects.filter(
        candidate__revisions=OuterRef("revision_now"),
        purpose=Purpose.PROMOTE,
        current=True,
        state=AttemptState.DONE,
    )
    return {
        "revision_now": Subquery(latest.values("pk")[:1]),
        "revised_by": Subquery(latest.values("made_by")[:1]),
        "promoted_now": Subquery(promoted.values("pk")[:1]),
    }


def _answered(user: int) -> QuerySet[Entry]:
    """Decisions of the person that hold still: an approval of what is there now, or a request for changes of it."""
    rows = Entry.objects.filter(review=OuterRef("pk"), by=user, revision=OuterRef("revision_now"))
    rows = rows.exclude(answers__kind=EntryKind.DISMISSED)
    changes = Q(kind=EntryKind.CHANGES)
    return rows.filter(changes | Q(kind=EntryKind.APPROVED, evaluation=OuterRef("promoted_now")))


def count_for(team: Team | None, user: int, role: Role | None) -> int:
    """How much waits for a person, for badges."""
    if team is None or role is None or not role.includes(Role.REVIEWER):
        return 0
    gates = at_gate(team).order_by().values_list("pk")
    return gates.union(waiting_for(team, user, role).order_by().values_list("pk"), all=True).count()
