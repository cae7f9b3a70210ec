"""`Letter`: a link that is to be mailed to somebody. The link is made when it is sent, so that no row holds one."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Self

from django.conf import settings
from django.db import models
from django.db.models import F
from django.utils import timezone

if TYPE_CHECKING:
    from datetime import datetime

WINDOW = timedelta(hours=1)
LIMIT, LIMIT_OF_ADDRESS = 3, 20
"""Letters within the window to one mailbox, and from one network address."""
LEASE = timedelta(seconds=90)
TRIES = 6
KEPT = timedelta(days=1)


class LetterQuerySet(models.QuerySet["Letter"]):
    """Many-row logic of letters."""

    def too_many(self, email: str, address: str) -> bool:
        """Whether this mailbox got, or this address asked for, enough lately."""
        recent = self.filter(created_at__gt=timezone.now() - WINDOW)
        to_it = recent.filter(email__iexact=email).count()
        return to_it >= LIMIT or recent.filter(address=address).count() >= LIMIT_OF_ADDRESS

    def due(self, now: datetime) -> Self:
        """Those to be sent."""
        return self.filter(sent_at=None, due_at__lte=now, attempts__lt=TRIES).exclude(user=None)

    def claim(self, pk: int, now: datetime) -> bool:
        """Take one by compare-and-set; False when another process was faster."""
        return bool(self.due(now).filter(pk=pk).update(due_at=now + LEASE, attempts=F("attempts") + 1))

    def forget(self, now: datetime) -> None:
        """Drop what is too old to count."""
        self.filter(created_at__lt=now - KEPT).delete()


class LetterKind(models.TextChoices):
    """What its link is for."""

    RESET = "reset", "A new password"
    ADDRESS = "address", "Another e-mail address"


class Letter(models.Model):
    """A wish to reset for an address that nobody has is a row too: it counts, and takes as long to answer."""

    kind = models.CharField(max_length=10, choices=LetterKind)
    email = models.EmailField()
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="+")
    address = models.CharField(max_length=64)
    created_at = models.DateTimeField(default=timezone.now)
    due_at = models.DateTimeField(default=timezone.now)
    attempts = models.PositiveIntegerField(default=0)
    sent_at = models.DateTimeField(null=True)

    objects = LetterQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["email", "created_at"], name="letter_recent")]

    def __str__(self) -> str:
        return f"{self.kind} to {self.email}"
