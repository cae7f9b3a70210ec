"""`Webhook`: where a team's notices are posted to."""

from __future__ import annotations

import base64
import json
import secrets
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils import timezone

from kernelsite.accounts.models import Team
from kernelsite.endpoints import vault

if TYPE_CHECKING:
    from kernelsite.notices.models.notice import Event

PURPOSE = "webhook"
"""What the vault binds a webhook's secrets to, so that no other sealed text opens as one."""
MOST_FAILURES = 20
"""Failed tries in a row after which a webhook is switched off."""


class Style(models.TextChoices):
    """What is posted."""

    STANDARD = "standard", "JSON, signed as Standard Webhooks say"
    SLACK = "slack", "A message as Slack and compatible chats take it"


class WebhookQuerySet(models.QuerySet["Webhook"]):
    """Many-row logic of webhooks."""

    def of_team(self, team: Team | None) -> Self:
        """Those a team may see."""
        return self.filter(team=team) if team else self.none()

    def hearing(self, team: Team, event: Event) -> list[Webhook]:
        """Those in use that want to hear of it."""
        return [row for row in self.of_team(team).filter(off_at=None) if event in row.events]


class Webhook(models.Model):
    """The address is sealed together with the secret, since the address of a chat is a secret too."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="webhooks")
    name = models.CharField(max_length=80)
    style = models.CharField(max_length=20, choices=Style, default=Style.STANDARD)
    events = models.JSONField(default=list)
    host = models.CharField(max_length=255)
    """Of the address, for people."""
    sealed = models.TextField()
    failures = models.PositiveIntegerField(default=0)
    """Failed tries since the last success."""
    off_at = models.DateTimeField(null=True)
    off_reason = models.CharField(max_length=200, blank=True, default="")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    objects = WebhookQuerySet.as_manager()

    class Meta:
        ordering = ["name", "id"]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        """Page with its deliveries."""
        return reverse("notices:webhook", args=[self.pk])

    def seal(self, url: str, secret: str) -> None:
        """Keep an address and a secret."""
        self.host = (urlsplit(url).hostname or "")[:255]
        self.sealed = vault.seal(json.dumps({"url": url, "secret": secret}), PURPOSE)

    def unseal(self) -> tuple[str, str]:
        """Address and secret.

        Raises:
            vault.SealedKeyError: they were sealed with another secret of the site.
        """
        kept = json.loads(vault.unseal(self.sealed, PURPOSE))
        return kept["url"], kept["secret"]


def new_secret() -> str:
    """256 random bits, written as Standard Webhooks write them."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
