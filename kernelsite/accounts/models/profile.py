"""`Profile`: how the site looks to a person."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.conf import settings
from django.db import models


class Theme(models.TextChoices):
    """Colours."""

    SYSTEM = "system", "As the system"
    LIGHT = "light", "Light"
    DARK = "dark", "Dark"


class Density(models.TextChoices):
    """How much fits on a page."""

    ROOMY = "roomy", "Roomy"
    COMPACT = "compact", "Compact"


class ProfileQuerySet(models.QuerySet["Profile"]):
    """Many-row logic of profiles."""

    def of(self, user: Any) -> Profile:
        """A person's, or the defaults, which are not saved; costs nothing where it was read along."""
        return getattr(user, "profile", None) or Profile(user_id=user.pk)


class Profile(models.Model):
    """One row per person who changed something."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="profile")
    theme = models.CharField(max_length=10, choices=Theme, default=Theme.SYSTEM)
    density = models.CharField(max_length=10, choices=Density, default=Density.ROOMY)
    time_zone = models.CharField(max_length=60, default="UTC")
    shortcuts = models.BooleanField(default=True)

    objects = ProfileQuerySet.as_manager()

    def __str__(self) -> str:
        return f"profile of {self.user_id}"

    @property
    def zone(self) -> ZoneInfo:
        """The time zone; UTC when this machine does not know it any more."""
        try:
            return ZoneInfo(self.time_zone)
        except (ZoneInfoNotFoundError, ValueError):
            return ZoneInfo("UTC")
