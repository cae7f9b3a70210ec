"""`Event`: the append-only log of a search, numbered 1..n; browsers are a fold over it."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone

from kernelsite.searches.models.search import Search
from kernelsite.searches.models.words import choices
from search.records import EventKind


class Event(models.Model):
    """One row of the log; `kernelsite.searches.events.append` is its only writer."""

    search = models.ForeignKey(Search, models.CASCADE, related_name="events")
    seq = models.PositiveIntegerField()
    kind = models.CharField(max_length=30, choices=choices(EventKind))
    payload = models.JSONField(default=dict)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["search", "seq"]
        constraints = [models.UniqueConstraint(fields=["search", "seq"], name="event_seq")]
        indexes = [
            # The home page's feed of records.
            models.Index(
                fields=["search", "-seq"], name="event_best", condition=Q(kind=EventKind.BEST.value)
            ),
        ]

    def __str__(self) -> str:
        return f"S-{self.search_id} #{self.seq} {self.kind}"
