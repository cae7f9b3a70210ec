"""`Team` and `Membership`: who works together and in which role."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone


class Role(models.TextChoices):
    """What a member may do; each role includes the ones before it."""

    VIEWER = "viewer", "Viewer"
    MEMBER = "member", "Member"
    REVIEWER = "reviewer", "Reviewer"
    MAINTAINER = "maintainer", "Maintainer"
    ADMIN = "admin", "Admin"

    def includes(self, other: Role) -> bool:
        """Whether it may do what the other may."""
        order = list(Role)
        return order.index(self) >= order.index(other)


class Team(models.Model):
    """Owns workloads, libraries and searches."""

    name = models.CharField(max_length=100)
    slug = models.SlugField(unique=True)
    created_at = models.DateTimeField(default=timezone.now)

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
