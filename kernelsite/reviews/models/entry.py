"""`Entry`: one line of a review's timeline. Written once, never changed: how a review stands is a fold over them."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from kernelsite.reviews.models.review import Review, Revision


class EntryKind(models.TextChoices):
    """What was said or done."""

    PROPOSED = "proposed", "proposed"
    REVISED = "revised", "proposed another candidate"
    MEASURED = "measured", "asked for a measurement"
    ACKNOWLEDGED = "acknowledged", "acknowledged"
    COMMENTED = "commented", "commented"
    APPROVED = "approved", "approved"
    CHANGES = "changes", "asked for changes"
    DISMISSED = "dismissed", "dismissed"
    WITHDRAWN = "withdrawn", "withdrew the proposal"
    RELEASED = "released", "released"


SUBJECT_LIMIT = 500
DECISIONS = (EntryKind.APPROVED, EntryKind.CHANGES)


class Entry(models.Model):
    """Somebody's word about one revision and the promotion-tier evaluation that was there then."""

    review = models.ForeignKey(Review, models.CASCADE, related_name="entries")
    kind = models.CharField(max_length=20, choices=EntryKind)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    revision = models.ForeignKey(Revision, models.PROTECT, related_name="entries")
    evaluation = models.ForeignKey("searches.Evaluation", models.PROTECT, null=True, related_name="+")
    """The evaluation that a decision rests on, or the measurement that was asked for."""
    proposer = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    """Who proposed the review, and below whoever chose the revision: neither may approve it."""
    reviser = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    is_solo = models.BooleanField(default=False)
    """Approved by its proposer, in a team of one."""
    text = models.TextField(max_length=4000, blank=True, default="")
    path = models.CharField(max_length=200, blank=True, default="")
    """File of a line comment."""
    line = models.PositiveIntegerField(null=True)
    """1.. within that file."""
    subject = models.CharField(max_length=SUBJECT_LIMIT, blank=True, default="")
    """Beginning of the text of the clause that is acknowledged."""
    checked = models.JSONField(default=list)
    """Points of the check-list that an approval ticks."""
    about = models.ForeignKey("self", models.PROTECT, null=True, related_name="answers")
    """The decision that is dismissed."""
    key = models.CharField(max_length=60)
    """Idempotency key of the form: a second click is the first one's."""
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name_plural = "entries"
        ordering = ["review", "id"]
        constraints = [
            models.UniqueConstraint(fields=["review", "by", "key"], name="entry_once"),
            models.CheckConstraint(
                condition=~Q(kind="approved")
                | Q(is_solo=True)
                | (~Q(by=F("proposer")) & ~Q(by=F("reviser"))),
                name="entry_four_eyes",
            ),
            models.CheckConstraint(
                condition=~Q(kind="approved") | Q(evaluation__isnull=False), name="entry_approval_is_measured"
            ),
            models.CheckConstraint(
                condition=Q(kind__in=["commented", "approved", "changes"])
                | (Q(line__isnull=True) & Q(path="")),
                name="entry_line_of_a_comment",
            ),
            models.CheckConstraint(
                condition=(Q(kind="dismissed") & Q(about__isnull=False) & ~Q(text=""))
                | (~Q(kind="dismissed") & Q(about__isnull=True)),
                name="entry_dismissal_has_a_reason",
            ),
            models.UniqueConstraint(
                fields=["about"], condition=Q(kind="dismissed"), name="entry_dismissed_once"
            ),
            models.UniqueConstraint(
                fields=["review"], condition=Q(kind="released"), name="entry_released_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.by} {self.get_kind_display()} in RV-{self.review_id}"
