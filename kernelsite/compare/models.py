"""Searches launched together (`Comparison`), any searches kept under a name (`SavedSet`), a page as it was seen (`SavedView`)."""

from __future__ import annotations

import re
import secrets

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.urls import reverse
from django.utils import timezone

TAKEN = frozenset({"parts", "pick", "save", "data.json", "data.csv"})
"""Words of this app's own addresses."""
NOTE_LIMIT = 4000
VIEW_LIMIT = 8000
"""Characters of a kept query; servers take no longer addresses."""


def check_slug(slug: str) -> None:
    """A saved set's name in its address: small letters, digits and dashes, not only digits.

    Raises:
        ValidationError: it is something else, or a word of the site.
    """
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", slug) or slug.isdigit():
        raise ValidationError("use small letters, digits and single dashes, with a letter among them")
    if slug in TAKEN:
        raise ValidationError(f"{slug!r} is a word of the site; choose another")


class Comparison(models.Model):
    """The searches point here (`Search.comparison`); `searches` is the way back."""

    team = models.ForeignKey("accounts.Team", models.CASCADE, related_name="comparisons")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    title = models.CharField(max_length=200)
    idempotency_key = models.CharField(max_length=100)
    request = models.JSONField()
    """What was asked for: base settings, strategies, seeds, matched axis."""
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["team", "idempotency_key"], name="comparison_one_per_key")
        ]

    def __str__(self) -> str:
        return f"CMP-{self.pk} {self.title}"

    def get_absolute_url(self) -> str:
        """Page of the comparison."""
        return reverse("compare:comparison", args=[self.pk])


class SavedSet(models.Model):
    """Any searches of a team that somebody put side by side, under a name and with a note."""

    team = models.ForeignKey("accounts.Team", models.CASCADE, related_name="saved_sets")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    slug = models.CharField(max_length=60, validators=[check_slug])
    title = models.CharField(max_length=200)
    note = models.TextField(max_length=NOTE_LIMIT, blank=True, default="")
    searches = models.ManyToManyField("searches.Search", related_name="saved_sets")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["team", "slug"], name="saved_set_slug")]

    def __str__(self) -> str:
        return f"{self.slug}: {self.title}"

    def get_absolute_url(self) -> str:
        """Page of the set."""
        return reverse("compare:saved", args=[self.slug])


def new_view_key() -> str:
    """A key nobody guesses; the view behind it is the team's all the same."""
    return secrets.token_urlsafe(9)


class SavedView(models.Model):
    """One person's address of a page, with all that was chosen on it; who is in the team may open it by its key."""

    team = models.ForeignKey("accounts.Team", models.CASCADE, related_name="saved_views")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="saved_views")
    key = models.CharField(max_length=20, unique=True)
    title = models.CharField(max_length=200)
    path = models.CharField(max_length=200)
    query = models.TextField(max_length=VIEW_LIMIT, blank=True, default="")
    digest = models.CharField(max_length=64)
    """SHA-256 of path and query: a long query is no column to index."""
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["team", "user", "digest"], name="saved_view_once")]

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        """The short link."""
        return reverse("compare:view", args=[self.key])

    @property
    def address(self) -> str:
        """What it stands for."""
        return f"{self.path}?{self.query}" if self.query else self.path
