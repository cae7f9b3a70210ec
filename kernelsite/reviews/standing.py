"""How the decisions of a review count now. Entries are never changed; what they are worth is worked out from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelsite.accounts.models import Role
from kernelsite.reviews.models import EntryKind
from kernelsite.reviews.models.entry import DECISIONS

if TYPE_CHECKING:
    from kernelsite.reviews.models import Entry
    from kernelsite.reviews.subject import Subject


@dataclass(frozen=True)
class Stand:
    """A person's approval or request for changes, and why it does not count if it does not."""

    entry: Entry
    why_not: str
    """`stale`, `dismissed`, `overtaken` or `no longer a reviewer`; empty while it counts."""
    dismissal: Entry | None = None

    @property
    def counts(self) -> bool:
        """It is weighed."""
        return not self.why_not


def stands(subject: Subject) -> dict[int, Stand]:
    """Every decision of a review by the id of its entry, oldest first."""
    dismissals = {row.about_id: row for row in subject.entries if row.kind == EntryKind.DISMISSED}
    decisions = [row for row in subject.entries if row.kind in DECISIONS]
    last = {row.by_id: row.pk for row in decisions}
    return {
        row.pk: Stand(
            row,
            _why_not(row, subject, is_last=last[row.by_id] == row.pk, dismissed=row.pk in dismissals),
            dismissals.get(row.pk),
        )
        for row in decisions
    }


def _why_not(row: Entry, subject: Subject, *, is_last: bool, dismissed: bool) -> str:
    role = subject.roles.get(row.by_id)
    if dismissed:
        return "dismissed"
    if not is_last:
        return "overtaken"
    if row.kind == EntryKind.APPROVED and is_stale(row, subject):
        return "stale"
    if role is None or not role.includes(Role.REVIEWER):
        return "no longer a reviewer"
    return ""


def is_stale(row: Entry, subject: Subject) -> bool:
    """Whether an approval speaks of other code, or rests on another evaluation, than are there now.

    A request for changes does not go stale: whoever made it looks again, or a maintainer dismisses it.
    """
    evaluation = subject.evaluation
    same_code = row.revision_id == subject.revision.pk
    return not (same_code and evaluation is not None and row.evaluation_id == evaluation.pk)


def approvals(subject: Subject) -> list[Entry]:
    """Those that count; one by each person."""
    return [each.entry for each in stands(subject).values() if each.counts and _is(each, EntryKind.APPROVED)]


def objections(subject: Subject) -> list[Entry]:
    """Requests for changes that stand."""
    return [each.entry for each in stands(subject).values() if each.counts and _is(each, EntryKind.CHANGES)]


def _is(stand: Stand, kind: EntryKind) -> bool:
    return stand.entry.kind == kind
