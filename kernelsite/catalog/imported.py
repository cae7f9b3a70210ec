"""What imports leave behind beside drafts: programs to start a search from, and a report of each import."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Self

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils import timezone

from kernelsite.accounts.models import Team
from search.records import Candidate

if TYPE_CHECKING:
    from search.records import Language

LANGUAGE_LENGTH = 20


class StartingQuerySet(models.QuerySet["StartingCandidate"]):
    """Many-row logic of starting candidates."""

    def of_team(self, team: Team | None) -> Self:
        """Those a team may use."""
        return self.filter(team=team)

    def for_workload(self, slug: str, language: Language | str = "") -> Self:
        """Programs for a workload; of one language where it is given."""
        found = self.filter(workload=slug)
        return found.filter(language=language) if language else found


class StartingCandidate(models.Model):
    """A program that somebody had before: a search may begin with it. The document is a `search.records.Candidate`."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="starting_candidates")
    workload = models.SlugField(max_length=100)
    """Slug of the workload that it is for, whatever its version."""
    name = models.CharField(max_length=200)
    author = models.CharField(max_length=200, blank=True)
    language = models.CharField(max_length=LANGUAGE_LENGTH)
    hash = models.CharField(max_length=64)
    document = models.JSONField()
    origin = models.CharField(max_length=200)
    """Name of the upload that it came with."""
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    objects = StartingQuerySet.as_manager()

    class Meta:
        ordering = ["workload", "name", "id"]
        constraints = [
            models.UniqueConstraint(fields=["team", "workload", "hash"], name="startingcandidate_once"),
        ]

    def __str__(self) -> str:
        return self.name

    @cached_property
    def record(self) -> Candidate:
        """The program."""
        return Candidate.load(self.document)


class WorkloadImportQuerySet(models.QuerySet["WorkloadImport"]):
    """Many-row logic of imports."""

    def of_team(self, team: Team | None) -> Self:
        """Those a team may see."""
        return self.filter(team=team)


class WorkloadImport(models.Model):
    """One upload and what became of each thing in it; the report is an `imports.Outcomes`."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="workload_imports")
    name = models.CharField(max_length=200)
    """Name of the file or folder."""
    format = models.CharField(max_length=40)
    report = models.JSONField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    objects = WorkloadImportQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"import of {self.name}"

    def get_absolute_url(self) -> str:
        """Page of the report."""
        return reverse("catalog:workload_import_report", args=[self.pk])
