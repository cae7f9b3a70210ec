"""What a review is about right now: its revision, the measurements of it, and who may judge them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from kernelsite.accounts.models import Membership, Role
from kernelsite.reviews.models import Entry, EntryKind, Release
from kernelsite.searches.evidence import record_of
from kernelsite.searches.models import AttemptState, Candidate, Evaluation
from search.records import Purpose

if TYPE_CHECKING:
    from kernelsite.reviews.models import Review, Revision
    from search import records


@dataclass(frozen=True)
class Subject:
    """A review as it stands now; reads rows when asked, each once."""

    review: Review

    @cached_property
    def revision(self) -> Revision:
        """What is proposed."""
        return self.review.revision

    @property
    def candidate(self) -> Candidate:
        """Its program."""
        return self.revision.candidate

    @cached_property
    def promotion(self) -> Evaluation | None:
        """Its latest attempt at the promotion tier, ended or not."""
        return current(self.candidate, Purpose.PROMOTE)

    @cached_property
    def remeasurement(self) -> Evaluation | None:
        """Its latest attempt in a fresh session, ended or not."""
        return current(self.candidate, Purpose.REMEASURE)

    @property
    def evaluation(self) -> Evaluation | None:
        """The promotion-tier evaluation that an approval rests on; None while there is none."""
        row = self.promotion
        return row if row is not None and row.state == AttemptState.DONE else None

    @cached_property
    def promoted(self) -> records.Evaluation | None:
        """What the judge said at the promotion tier."""
        return record_of(self.evaluation)

    @cached_property
    def remeasured(self) -> records.Evaluation | None:
        """What the judge said in the fresh session."""
        row = self.remeasurement
        return record_of(row) if row is not None and row.state == AttemptState.DONE else None

    @cached_property
    def entries(self) -> list[Entry]:
        """The timeline, oldest first."""
        return list(self.review.entries.select_related("by", "revision", "evaluation").order_by("id"))

    @cached_property
    def acknowledged(self) -> dict[str, Entry]:
        """Clauses of this revision that a person has looked at, by their text."""
        kind = EntryKind.ACKNOWLEDGED
        found = [each for each in self.entries if each.kind == kind and each.revision_id == self.revision.pk]
        return {each.subject: each for each in found}

    @cached_property
    def roles(self) -> dict[int, Role]:
        """Present roles in the team by person: who was demoted or removed counts as what they are now."""
        rows = Membership.objects.filter(team=self.review.team_id, user__is_active=True)
        return {user: Role(role) for user, role in rows.values_list("user_id", "role")}

    @property
    def is_solo(self) -> bool:
        """One person is the whole team, and so may review their own work; it is marked wherever it is shown."""
        return len(self.roles) == 1

    @property
    def authors(self) -> set[int]:
        """Who proposed it and who chose its candidate."""
        return {self.review.proposed_by_id, self.revision.made_by_id}

    def may_judge(self, user: int) -> bool:
        """Whether a person may approve, or vouch for a clause: four eyes, where there are four."""
        role = self.roles.get(user)
        is_reviewer = role is not None and role.includes(Role.REVIEWER)
        return is_reviewer and (user not in self.authors or self.is_solo)

    @cached_property
    def last_release(self) -> Release | None:
        """The team's latest release of the same workload on the same class of device, but for this review's own."""
        search = self.candidate.search
        rows = Release.objects.of_team(self.review.team).exclude(review=self.review).with_facts()
        return rows.filter(slug=search.workload.slug, device_class=search.device_class).first()


def current(candidate: Candidate, purpose: Purpose) -> Evaluation | None:
    """The attempt that stands for a candidate and a purpose."""
    rows = Evaluation.objects.filter(candidate=candidate, purpose=purpose, current=True)
    return rows.select_related("candidate__structure").first()
