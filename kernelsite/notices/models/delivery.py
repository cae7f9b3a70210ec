"""`Delivery`: one notice on its way out of the site, to one person's mailbox or one webhook."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from kernelsite.notices.models.notice import Notice
from kernelsite.notices.models.webhook import Webhook

if TYPE_CHECKING:
    from datetime import datetime

LEASE = timedelta(seconds=90)
"""Longer than any try: a delivery whose process died in the middle is due again after it."""
TRIES_KEPT = 12


class DeliveryState(models.TextChoices):
    """How far it is."""

    WAITING = "waiting", "Waiting"
    SENT = "sent", "Sent"
    FAILED = "failed", "Given up"
    DROPPED = "dropped", "Not wanted any more"


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    """Many-row logic of deliveries."""

    def due(self, now: datetime) -> Self:
        """Those that may leave now, oldest first."""
        return self.filter(state=DeliveryState.WAITING, due_at__lte=now).order_by("due_at", "id")

    def claim(self, pk: int, now: datetime) -> bool:
        """Take one by compare-and-set; False when another courier was faster."""
        return bool(self.due(now).filter(pk=pk).update(due_at=now + LEASE, attempts=F("attempts") + 1))

    def again(self, pk: int) -> bool:
        """Send one anew that is not waiting, with the same id; False when there is nothing to do."""
        over = self.filter(pk=pk).exclude(state=DeliveryState.WAITING)
        return bool(over.update(state=DeliveryState.WAITING, due_at=timezone.now(), attempts=0))


class Delivery(models.Model):
    """At least once: a process that dies between the receiver's answer and its row sends again under the same id."""

    notice = models.ForeignKey(Notice, models.CASCADE, related_name="deliveries")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="+")
    webhook = models.ForeignKey(Webhook, models.CASCADE, null=True, related_name="deliveries")
    uid = models.UUIDField(default=uuid4, unique=True, editable=False)
    """By which a receiver knows what it has already: `webhook-id`, or part of `Message-ID`."""
    state = models.CharField(max_length=20, choices=DeliveryState, default=DeliveryState.WAITING)
    attempts = models.PositiveIntegerField(default=0)
    due_at = models.DateTimeField(default=timezone.now)
    sent_at = models.DateTimeField(null=True)
    tries = models.JSONField(default=list)
    """The last tries: when, what came of it, how long it took."""

    objects = DeliveryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "deliveries"
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(user__isnull=True, webhook__isnull=False)
                | Q(user__isnull=False, webhook__isnull=True),
                name="delivery_to_one_place",
            ),
            models.UniqueConstraint(fields=["notice", "user"], name="delivery_once_by_mail"),
            models.UniqueConstraint(fields=["notice", "webhook"], name="delivery_once_by_webhook"),
        ]
        indexes = [
            models.Index(fields=["due_at"], name="delivery_due", condition=Q(state=DeliveryState.WAITING))
        ]

    def __str__(self) -> str:
        return f"{self.notice_id} to {self.webhook_id or self.user_id}"

    def note(self, told: dict[str, Any]) -> None:
        """Add one try to the log, in memory."""
        self.tries = [*self.tries, {"at": timezone.now().isoformat(), **told}][-TRIES_KEPT:]
