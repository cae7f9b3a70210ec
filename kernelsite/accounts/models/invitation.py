"""`Invitation`: a place in a team for whoever has the link and the e-mail address."""

from __future__ import annotations

import secrets
from datetime import timedelta
from hashlib import sha256
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.utils import timezone

from kernelsite.accounts.models.team import Role, Team

if TYPE_CHECKING:
    from typing import Self

LIFETIME = timedelta(days=7)


class InvitationQuerySet(models.QuerySet["Invitation"]):
    """Many-row logic of invitations."""

    def open(self) -> Self:
        """Those that can still be accepted."""
        return self.filter(accepted_at=None, revoked_at=None, expires_at__gt=timezone.now())

    def find(self, token: str) -> Invitation | None:
        """The open invitation of a link."""
        return self.open().filter(digest=digest(token)).select_related("team").first()

    def accept(self, pk: int) -> bool:
        """Use it up; False when somebody was faster, or it is not open any more."""
        return bool(self.open().filter(pk=pk).update(accepted_at=timezone.now()))

    def revoke(self, pk: int) -> None:
        """Take one back."""
        self.open().filter(pk=pk).update(revoked_at=timezone.now())


class Invitation(models.Model):
    """The link is shown once; only its digest is kept."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="invitations")
    email = models.EmailField()
    role = models.CharField(max_length=20, choices=Role, default=Role.MEMBER)
    digest = models.CharField(max_length=64, unique=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    """Accepting asks again whether this person may invite."""
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    objects = InvitationQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.email} as {self.role}"

    def issue(self) -> str:
        """Give it a secret and its end, save it, and return the secret."""
        token = secrets.token_urlsafe(32)
        self.digest, self.expires_at = digest(token), timezone.now() + LIFETIME
        self.save()
        return token


def digest(token: str) -> str:
    """What is kept of a secret of 256 random bits; it needs no salt."""
    return sha256(token.encode()).hexdigest()
