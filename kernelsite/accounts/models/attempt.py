"""`LoginAttempt`: who tries too often."""

from __future__ import annotations

from datetime import timedelta
from typing import Self

from django.db import models
from django.utils import timezone


class LoginAttemptQuerySet(models.QuerySet["LoginAttempt"]):
    """Counts of attempts to log in."""

    def recent(self) -> Self:
        """Those of the last quarter of an hour."""
        return self.filter(at__gt=timezone.now() - timedelta(seconds=LoginAttempt.WINDOW_S))

    def note(self, username: str, address: str) -> None:
        """Write one down, and drop what is too old to count."""
        self.exclude(pk__in=self.recent().values("pk")).delete()
        self.create(username=_folded(username), address=address)

    def too_many(self, username: str, address: str) -> bool:
        """Whether this person from this address, or anybody on this name, has tried too often."""
        on_name = self.recent().filter(username=_folded(username))
        from_here = on_name.filter(address=address).count()
        return from_here > LoginAttempt.LIMIT or on_name.count() > LoginAttempt.LIMIT_OF_NAME

    def forget(self, username: str, address: str) -> None:
        """After the right password."""
        self.filter(username=_folded(username), address=address).delete()


class LoginAttempt(models.Model):
    """One attempt to log in that has not succeeded, or not yet."""

    WINDOW_S = 15 * 60
    LIMIT = 5
    """Per name and address."""
    LIMIT_OF_NAME = 50
    """Per name, from wherever: slows a guess that is spread over many addresses."""

    username = models.CharField(max_length=150)
    address = models.CharField(max_length=64)
    at = models.DateTimeField(default=timezone.now)

    objects = LoginAttemptQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["username", "at"], name="login_attempt_recent")]

    def __str__(self) -> str:
        return f"{self.username} from {self.address}"


def _folded(username: str) -> str:
    return username.casefold()[:150]
