"""`ApiToken`: lets a program act for a person in one team, within scopes."""

from __future__ import annotations

import secrets
import string
from datetime import timedelta
from typing import TYPE_CHECKING
from zlib import crc32

from django.conf import settings
from django.db import models
from django.db.models import Case, F, Value, When
from django.utils import timezone

from kernelsite.accounts.models.invitation import digest
from kernelsite.accounts.models.team import Team

if TYPE_CHECKING:
    from typing import Self

ALPHABET = string.digits + string.ascii_letters
BODY, CHECK = 43, 6
PREFIX = 11
"""Characters of a token, `ks_` included, that stay readable."""
LONGEST = timedelta(days=365)
PER_MINUTE = 300
"""Requests that one token may make."""


class Scope(models.TextChoices):
    """What a token may do, where its owner may do it."""

    READ = "read", "Read"
    LAUNCH = "launch", "Launch and steer searches"
    REVIEW = "review", "Propose and review kernels, decide gates"
    SHARE = "share", "Show results to people without an account"
    ADMIN = "admin", "Drain and enable devices"
    TEAM = "team", "Models, webhooks, people and tokens"


class TokenQuerySet(models.QuerySet["ApiToken"]):
    """Many-row logic of tokens."""

    def live(self) -> Self:
        """Those neither revoked nor expired, of people who may still log in."""
        return self.filter(revoked_at=None, expires_at__gt=timezone.now(), user__is_active=True)

    def find(self, text: str) -> ApiToken | None:
        """The live token; a text whose checksum is wrong costs no query."""
        if not is_token(text):
            return None
        return self.live().filter(digest=digest(text)).select_related("team", "user").first()


class ApiToken(models.Model):
    """The token is shown once; its digest and its first characters are kept."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="tokens")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=80)
    scopes = models.JSONField(default=list)
    prefix = models.CharField(max_length=PREFIX)
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)
    minute = models.BigIntegerField(default=0)
    """Minute since 1970 in which `used` requests were made."""
    used = models.PositiveIntegerField(default=0)

    objects = TokenQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @property
    def is_live(self) -> bool:
        """Neither revoked nor expired."""
        return self.revoked_at is None and self.expires_at > timezone.now()

    def issue(self) -> str:
        """Give it a secret, save it, and return the secret."""
        text = new_token()
        self.prefix, self.digest = text[:PREFIX], digest(text)
        self.save()
        return text

    def note_use(self) -> int:
        """Count one request; how many are left in this minute, below 0 when it was one too many."""
        now = timezone.now()
        minute = int(now.timestamp()) // 60
        counted = Case(When(minute=minute, then=F("used") + 1), default=Value(1))
        ApiToken.objects.filter(pk=self.pk).update(used=counted, minute=minute, last_used_at=now)
        self.refresh_from_db(fields=["used"])
        return PER_MINUTE - self.used


def new_token() -> str:
    """`ks_`, 256 random bits, and a checksum by which scanners of leaked secrets can tell it from noise."""
    body = "".join(secrets.choice(ALPHABET) for _ in range(BODY))
    return f"ks_{body}{_checksum(body)}"


def is_token(text: str) -> bool:
    """Whether a text has the form and the checksum of a token."""
    body, check = text[3:-CHECK], text[-CHECK:]
    return text.startswith("ks_") and len(body) == BODY and text.isascii() and _checksum(body) == check


def _checksum(body: str) -> str:
    number, signs = crc32(body.encode()), []
    for _ in range(CHECK):
        number, sign = divmod(number, len(ALPHABET))
        signs.append(ALPHABET[sign])
    return "".join(reversed(signs))
