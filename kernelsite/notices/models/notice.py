"""`Notice`: something that happened, told once; `Receipt`: one person's copy of it in the site."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Self

from django.conf import settings
from django.db import models
from django.utils import timezone

from kernelsite.accounts.models import Team

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

KEPT = timedelta(days=90)


class Event(models.TextChoices):
    """What can happen; the values are what webhooks say."""

    SEARCH_FINISHED = "search.finished", "A search or comparison finished"
    SEARCH_FAILED = "search.failed", "A search failed"
    SEARCH_PAUSED = "search.paused", "A search needs a person to go on"
    CAP_NEAR = "search.cap_near", "80 % of a cap is spent"
    RECORD = "record", "A new fastest kernel of a workload"
    GATE_WAITING = "review.gate", "A search waits for a review of its structures"
    REVIEW_ASKED = "review.asked", "A review is asked for"
    REVIEW_DECIDED = "review.decided", "A review is decided"
    REVIEW_STALE = "review.stale", "An approval went stale"
    RELEASE = "release", "A kernel is released"
    DEVICE_DOWN = "device.down", "A device went silent or shut itself out"
    WEBHOOK_OFF = "webhook.off", "A webhook was switched off after failures"
    TEST = "test", "A test of a webhook"


class Notice(models.Model):
    """The text is plain, of one line each, and may come from strangers; pages escape it."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="notices")
    event = models.CharField(max_length=30, choices=Event)
    key = models.CharField(max_length=150)
    """What happened, in a word that only this has in its team: telling it twice is telling it once."""
    title = models.CharField(max_length=200)
    text = models.CharField(max_length=500, blank=True, default="")
    link = models.CharField(max_length=300, blank=True, default="")
    """Path within the site."""
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["team", "key"], name="notice_told_once")]
        indexes = [models.Index(fields=["created_at"], name="notice_age")]

    def __str__(self) -> str:
        return self.title


class ReceiptQuerySet(models.QuerySet["Receipt"]):
    """Many-row logic of receipts."""

    def of(self, user: User | AnonymousUser, team: Team | None) -> Self:
        """What a person sees while working in a team."""
        return self.filter(user=user.pk or 0, notice__team=team) if team else self.none()

    def unread(self) -> Self:
        """Those not read yet."""
        return self.filter(read_at=None)

    def read(self) -> int:
        """Mark all of these read; how many were not."""
        return self.unread().update(read_at=timezone.now())


class Receipt(models.Model):
    """One row per person, so that each reads for themselves."""

    notice = models.ForeignKey(Notice, models.CASCADE, related_name="receipts")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="receipts")
    read_at = models.DateTimeField(null=True)

    objects = ReceiptQuerySet.as_manager()

    class Meta:
        ordering = ["-notice_id"]
        constraints = [models.UniqueConstraint(fields=["notice", "user"], name="receipt_once")]
        indexes = [
            models.Index(fields=["user"], name="receipt_unread", condition=models.Q(read_at__isnull=True))
        ]

    def __str__(self) -> str:
        return f"{self.notice_id} for {self.user_id}"
