"""`Release`: an approved kernel, as it was approved. Triggers of the database refuse to change a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models
from django.urls import reverse
from django.utils import timezone

from kernelsite.reviews.models.review import Review

if TYPE_CHECKING:
    from typing import Self

    from kernelsite.accounts.models import Team


class ReleaseQuerySet(models.QuerySet["Release"]):
    """Many-row logic of releases."""

    def of_team(self, team: Team | None) -> Self:
        """Those a team may see."""
        return self.filter(team=team)

    def with_facts(self) -> Self:
        """With everything that pages and downloads read."""
        return self.select_related(
            "review", "workload", "evaluation", "candidate__search__workload", "candidate__structure",
            "candidate__source", "candidate__parent",
        )  # fmt: skip


class Release(models.Model):
    """Its candidate and evaluation cannot be deleted, and rows of either are written once."""

    team = models.ForeignKey("accounts.Team", models.PROTECT, related_name="releases")
    review = models.OneToOneField(Review, models.PROTECT, related_name="release")
    workload = models.ForeignKey("catalog.WorkloadVersion", models.PROTECT, related_name="releases")
    slug = models.CharField(max_length=100)
    """Of the workload."""
    number = models.PositiveIntegerField()
    """1.. among the team's releases of workloads of that slug."""
    candidate = models.ForeignKey("searches.Candidate", models.PROTECT, related_name="releases")
    evaluation = models.ForeignKey("searches.Evaluation", models.PROTECT, related_name="releases")
    """At the promotion tier."""
    content_hash = models.CharField(max_length=64)
    title = models.CharField(max_length=400)
    license = models.CharField(max_length=60)
    device_class = models.CharField(max_length=50)
    device = models.CharField(max_length=200)
    """Model name, e.g. `NVIDIA H200`."""
    speedup = models.FloatField()
    low = models.FloatField()
    high = models.FloatField()
    median_us = models.FloatField()
    baseline = models.CharField(max_length=200)
    citation = models.CharField(max_length=1000)
    proposed_by = models.CharField(max_length=150)
    approved_by = models.JSONField(default=list)
    """Names of the people whose approvals counted."""
    is_solo = models.BooleanField(default=False)
    """Approved by its proposer, in a team of one."""
    released_at = models.DateTimeField(default=timezone.now)

    objects = ReleaseQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["team", "slug", "number"], name="release_number"),
        ]
        indexes = [models.Index(fields=["team", "slug", "device_class"], name="release_best")]

    def __str__(self) -> str:
        return f"{self.name} {self.title}"

    def get_absolute_url(self) -> str:
        """Page of the release."""
        return reverse("reviews:release", args=[self.pk])

    @property
    def name(self) -> str:
        """Name for people, e.g. `softmax r3`."""
        return f"{self.slug} r{self.number}"

    @property
    def short(self) -> str:
        """Short id, e.g. `R-12`."""
        return f"R-{self.pk}"
