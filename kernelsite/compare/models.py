"""`Comparison`: several searches with equal settings but strategy and seed, at one matched budget."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils import timezone


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
