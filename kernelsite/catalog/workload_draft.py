"""`WorkloadDraft`: a workload that a team is still writing; kept as text, so that what is wrong is kept too."""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone

from kernelsite.accounts.models import Team


class WorkloadDraftQuerySet(models.QuerySet["WorkloadDraft"]):
    """Many-row logic of drafts."""

    def of_team(self, team: Team | None) -> Self:
        """Those a team may see."""
        return self.filter(team=team)


class WorkloadDraft(models.Model):
    """A definition and a reference; one draft for each name in a team."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="workload_drafts")
    slug = models.SlugField(max_length=100)
    """Name of the workload that publishing makes a version of."""
    definition = models.TextField(blank=True)
    """YAML, see `workload_text`."""
    reference = models.TextField(blank=True)
    """Python."""
    report = models.JSONField(null=True)
    """What the last check found, see `workload_report.Report`."""
    hash = models.CharField(max_length=64, blank=True, default="")
    """Content hash of what publishing would make; empty while something is wrong."""
    title = models.CharField(max_length=200, blank=True, default="")
    source = models.CharField(max_length=200, blank=True, default="")
    """Where an import took it from; empty once a person has written in it."""
    based_on = models.ForeignKey(
        "catalog.WorkloadVersion", models.SET_NULL, null=True, blank=True, related_name="drafts"
    )
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    updated_at = models.DateTimeField(default=timezone.now)

    objects = WorkloadDraftQuerySet.as_manager()

    class Meta:
        ordering = ["slug"]
        constraints = [
            models.UniqueConstraint(fields=["team", "slug"], name="workloaddraft_once"),
            models.CheckConstraint(condition=~Q(slug=""), name="workloaddraft_named"),
        ]

    def __str__(self) -> str:
        return f"draft of {self.slug}"

    def get_absolute_url(self) -> str:
        """Page of the draft."""
        return reverse("catalog:workload_draft", args=[self.slug])
