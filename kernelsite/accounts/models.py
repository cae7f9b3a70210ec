"""`Team` and `Membership`: who works together and in which role; `LoginAttempt`: who tries too often."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Self

from django.conf import settings
from django.db import models
from django.utils import timezone

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser


class Role(models.TextChoices):
    """What a member may do; each role includes the ones before it."""

    VIEWER = "viewer", "Viewer"
    MEMBER = "member", "Member"
    REVIEWER = "reviewer", "Reviewer"
    MAINTAINER = "maintainer", "Maintainer"
    ADMIN = "admin", "Admin"


class TeamQuerySet(models.QuerySet["Team"]):
    """Many-row logic of teams."""

    def of(self, user: AbstractBaseUser | AnonymousUser) -> Team | None:
        """The team a user works in: the first one joined."""
        if not user.is_authenticated:
            return None
        return self.filter(memberships__user_id=user.pk).order_by("memberships__id").first()


class Team(models.Model):
    """Owns workloads, libraries and searches."""

    name = models.CharField(max_length=100)
    slug = models.SlugField(unique=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = TeamQuerySet.as_manager()

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A user's place in a team."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=20, choices=Role, default=Role.MEMBER)
    joined_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["team", "user"], name="membership_once")]

    def __str__(self) -> str:
        return f"{self.user} in {self.team} as {self.role}"


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
