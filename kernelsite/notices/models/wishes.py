"""`Wishes`: what a person wants to be told of, over which channel, and when not."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Self

from django.conf import settings
from django.db import models

from kernelsite.notices.models.notice import Event

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from django.contrib.auth.models import User


class Channel(models.TextChoices):
    """How a person is told. Webhooks are a team's, not a person's."""

    SITE = "site", "In the site"
    MAIL = "mail", "By e-mail"


MAILED = frozenset(
    {Event.SEARCH_FAILED, Event.SEARCH_PAUSED, Event.GATE_WAITING, Event.REVIEW_ASKED, Event.WEBHOOK_OFF}
)
"""Sent by e-mail unless somebody wishes otherwise: what waits for a person."""


class WishesQuerySet(models.QuerySet["Wishes"]):
    """Many-row logic of wishes."""

    def of(self, user: User) -> Wishes:
        """A person's, or the defaults, which are not saved."""
        return self.filter(user=user).first() or Wishes(user=user)

    def nosy(self) -> Self:
        """Of people who want to hear of everybody's searches."""
        return self.filter(all_searches=True)


class Wishes(models.Model):
    """One row per person who changed something."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="wishes")
    choices = models.JSONField(default=dict)
    """`{event: {channel: bool}}`; what is not here is as by default."""
    all_searches = models.BooleanField(default=False)
    """Also of searches that others started."""
    quiet_from = models.TimeField(null=True, blank=True)
    quiet_until = models.TimeField(null=True, blank=True)
    """E-mails of these hours of the person's own time zone wait for their end."""

    objects = WishesQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "wishes"

    def __str__(self) -> str:
        return f"wishes of {self.user_id}"

    def wants(self, event: Event, channel: Channel) -> bool:
        """Whether the person is told of it this way."""
        default = channel is Channel.SITE or event in MAILED
        return bool(self.choices.get(event, {}).get(channel, default))

    def mail_due(self, now: datetime, zone: ZoneInfo) -> datetime:
        """When an e-mail may leave that is written now: now, or at the end of the quiet hours."""
        start, end = self.quiet_from, self.quiet_until
        if start is None or end is None or start == end:
            return now
        local = now.astimezone(zone)
        clock = local.time()
        quiet = start <= clock < end if start < end else clock >= start or clock < end
        if not quiet:
            return now
        day = local.date() + timedelta(days=1 if clock >= end else 0)
        return datetime.combine(day, end, zone)
