"""`LibraryDraft`: a library that a team is still writing; kept as text, so that what is wrong is kept too."""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone

from kernelsite.accounts.models import Team


class LibraryDraftQuerySet(models.QuerySet["LibraryDraft"]):
    """Many-row logic of drafts."""

    def of_team(self, team: Team | None) -> Self:
        """Those a team may see."""
        return self.filter(team=team)


class LibraryDraft(models.Model):
    """Files of a library to be; one draft for each name in a team."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="library_drafts")
    slug = models.SlugField(max_length=100)
    """Name of the library that publishing makes a version of."""
    files = models.JSONField()
    """Text by file name; merged in the order of names, as a folder is."""
    report = models.JSONField(null=True)
    """What the last check found, see `library_report.Report`."""
    based_on = models.ForeignKey("catalog.LibraryVersion", models.SET_NULL, null=True, related_name="drafts")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    updated_at = models.DateTimeField(default=timezone.now)

    objects = LibraryDraftQuerySet.as_manager()

    class Meta:
        ordering = ["slug"]
        constraints = [
            models.UniqueConstraint(fields=["team", "slug"], name="librarydraft_once"),
            models.CheckConstraint(condition=~Q(slug=""), name="librarydraft_named"),
        ]

    def __str__(self) -> str:
        return f"draft of {self.slug}"

    def get_absolute_url(self) -> str:
        """Page of the draft."""
        return reverse("catalog:library_draft", args=[self.slug])
