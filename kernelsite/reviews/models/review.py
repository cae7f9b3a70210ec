"""`Review` and `Revision`: a structure's candidate that somebody proposes, and each program that it stood for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone

if TYPE_CHECKING:
    from typing import Self

    from kernelsite.accounts.models import Team


FACTS = ("structure__search__workload", "proposed_by")
"""What lists and pages show of a review's structure."""


class ReviewState(models.TextChoices):
    """Where a review stands. What its people said is in its entries."""

    OPEN = "open", "open"
    APPROVED = "approved", "approved"
    WITHDRAWN = "withdrawn", "withdrawn"


class ReviewQuerySet(models.QuerySet["Review"]):
    """Many-row logic of reviews."""

    def of_team(self, team: Team | None) -> Self:
        """Those a team may see."""
        return self.filter(team=team)


class Review(models.Model):
    """One proposal; `approved` once and for all, with its release."""

    team = models.ForeignKey("accounts.Team", models.CASCADE, related_name="reviews")
    structure = models.ForeignKey("searches.Structure", models.PROTECT, related_name="reviews")
    proposed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    note = models.TextField(max_length=4000, blank=True, default="")
    """What the reviewers should know, in the proposer's words."""
    license = models.CharField(max_length=60, default="Apache-2.0")
    """SPDX identifier under which the kernel is released."""
    state = models.CharField(max_length=10, choices=ReviewState, default=ReviewState.OPEN)
    created_at = models.DateTimeField(default=timezone.now)
    moved_at = models.DateTimeField(default=timezone.now)
    """When something was last said or done."""

    objects = ReviewQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["open", "approved", "withdrawn"]), name="review_state_known"
            ),
            # Two people who propose one structure at once meet in one review.
            models.UniqueConstraint(
                fields=["structure"], condition=Q(state="open"), name="review_one_open_per_structure"
            ),
        ]
        indexes = [models.Index(fields=["team", "state", "-moved_at"], name="review_queue")]

    def __str__(self) -> str:
        return f"{self.short} {self.structure.title}"

    def get_absolute_url(self) -> str:
        """Page of the review."""
        return reverse("reviews:review", args=[self.pk])

    @property
    def short(self) -> str:
        """Name for people, e.g. `RV-7`."""
        return f"RV-{self.pk}"

    @property
    def is_open(self) -> bool:
        """It can still be decided."""
        return self.state == ReviewState.OPEN

    @property
    def revision(self) -> Revision:
        """What is proposed now."""
        rows = self.revisions.select_related(
            "candidate__structure", "candidate__source", "candidate__parent", "candidate__search__workload"
        )
        return rows.latest("number")


class Revision(models.Model):
    """The program that a review stands for from here on; what was said of an earlier one is stale."""

    review = models.ForeignKey(Review, models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField()
    candidate = models.ForeignKey("searches.Candidate", models.PROTECT, related_name="revisions")
    content_hash = models.CharField(max_length=64)
    """Hash of the candidate: sources, language, entry point and knob values."""
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["review", "number"]
        constraints = [models.UniqueConstraint(fields=["review", "number"], name="revision_number")]

    def __str__(self) -> str:
        return f"revision {self.number} of RV-{self.review_id}"
