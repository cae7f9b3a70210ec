"""`AuditEntry`: one change by a person. Triggers of the database refuse to change or delete rows (migration 0003)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models
from django.utils import timezone

if TYPE_CHECKING:
    from typing import Self

    from kernelsite.accounts.models.team import Team


class AuditQuerySet(models.QuerySet["AuditEntry"]):
    """Many-row logic of the trail."""

    def of_team(self, team: Team | None) -> Self:
        """Those a team may see."""
        return self.filter(team_id=team.pk) if team else self.none()


class AuditEntry(models.Model):
    """Numbers and names instead of foreign keys: a row outlives the people and things it tells of."""

    team_id = models.BigIntegerField()
    actor_id = models.BigIntegerField(null=True)
    actor = models.CharField(max_length=150)
    token = models.CharField(max_length=20, blank=True, default="")
    """Prefix of the API token that was used; empty in a browser."""
    verb = models.CharField(max_length=40)
    kind = models.CharField(max_length=40)
    """Name of the object's model, in words."""
    object_id = models.BigIntegerField(null=True)
    name = models.CharField(max_length=200)
    before = models.JSONField(default=dict)
    after = models.JSONField(default=dict)
    reason = models.CharField(max_length=500, blank=True, default="")
    address = models.CharField(max_length=64)
    at = models.DateTimeField(default=timezone.now)

    objects = AuditQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["team_id", "-id"], name="audit_of_team"),
            models.Index(fields=["team_id", "kind", "object_id"], name="audit_of_object"),
        ]

    def __str__(self) -> str:
        return f"{self.actor} {self.verb} {self.name}"
