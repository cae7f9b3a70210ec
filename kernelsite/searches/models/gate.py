"""`GateDecision`: what a reviewer decided while a search waited at its gate; part of the search's history."""

from __future__ import annotations

from functools import cached_property

from django.conf import settings
from django.db import models
from django.utils import timezone

from kernelsite.searches.models.search import Search
from search.review import Decision


class GateDecision(models.Model):
    """Written once, never changed; the engine takes it at the same place in every replay."""

    search = models.ForeignKey(Search, models.CASCADE, related_name="decisions")
    number = models.PositiveIntegerField()
    """1.. within the search."""
    document = models.JSONField()
    """`search.review.Decision`."""
    key = models.CharField(max_length=60)
    """Idempotency key of the form: a second click is the first one's."""
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    decided_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["search", "number"]
        constraints = [
            models.UniqueConstraint(fields=["search", "number"], name="gate_decision_number"),
            models.UniqueConstraint(fields=["search", "key"], name="gate_decision_once"),
        ]

    def __str__(self) -> str:
        return f"decision {self.number} at the gate of S-{self.search_id}"

    @cached_property
    def record(self) -> Decision:
        """The decision as the engine knows it."""
        return Decision.load(self.document)
