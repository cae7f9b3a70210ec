"""`Share`: one link; `TeamSharing` and `SiteSharing`: the switches over links; `GuestMinute`: who asks too often."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import IntegrityError, models, transaction
from django.db.models import F, Q
from django.utils import timezone
from django.utils.crypto import salted_hmac

from kernelsite.accounts.models import Team
from kernelsite.accounts.models.invitation import digest

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Self

USUAL_DAYS = 7
LONGEST_DAYS = 365
TITLE_LIMIT = 200


class Words(models.TextChoices):
    """What can be shared."""

    SEARCH = "search", "Search"
    STRUCTURE = "structure", "Structure"
    COMPARISON = "comparison", "Comparison"
    SAVED_SET = "set", "Saved set"
    RELEASE = "release", "Release"


class ShareQuerySet(models.QuerySet["Share"]):
    """Many-row logic of links."""

    def of_team(self, team: Team | None) -> Self:
        """Those a team keeps."""
        return self.filter(team=team)

    def unended(self) -> Self:
        """Neither revoked nor expired."""
        return self.filter(revoked_at=None, expires_at__gt=timezone.now())

    def working(self) -> Self:
        """Those that a guest may open: no switch is off over them."""
        rows = self.unended().exclude(team__sharing__is_open=False)
        return rows if SiteSharing.allows() else rows.none()

    def find(self, token: str) -> Share | None:
        """The working link of a token; unknown, expired and revoked ones look alike."""
        return self.working().filter(digest=digest(token)).select_related("team").first()

    def revoke(self, pk: int) -> bool:
        """End a link; False when it had an end already, so that of many at once one has the effect."""
        return bool(self.unended().filter(pk=pk).update(revoked_at=timezone.now()))

    def extend(self, pk: int, until: datetime) -> bool:
        """Move the end of a link that still works further away; False when it ended meanwhile or ends later."""
        return bool(self.unended().filter(pk=pk, expires_at__lt=until).update(expires_at=until))

    def note_open(self, pk: int) -> None:
        """Count one look at the page."""
        self.filter(pk=pk).update(opens=F("opens") + 1, last_opened_at=timezone.now())


class Share(models.Model):
    """A link to a result. The token is shown once; only its digest is kept."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="shares")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    digest = models.CharField(max_length=64, unique=True)
    kind = models.CharField(max_length=20, choices=Words)
    thing_id = models.BigIntegerField()
    """Row of the kind's own table; when it is deleted, the link finds nothing."""
    thing = models.CharField(max_length=100)
    """What members call it, e.g. `S-142`; never public."""
    address = models.CharField(max_length=200)
    """Its page for members."""
    title = models.CharField(max_length=TITLE_LIMIT)
    """As guests read it; whoever shares writes it, for titles of searches are written for the team."""
    has_tree = models.BooleanField(default=True)
    has_code = models.BooleanField(default=False)
    has_transcript = models.BooleanField(default=False)
    is_live = models.BooleanField(default=False)
    document = models.JSONField(null=True)
    """`Result` of a frozen link."""
    revision = models.CharField(max_length=64)
    """Content hash of what was previewed."""
    version = models.CharField(max_length=100)
    """State of the thing at that moment; when it differs, something newer exists."""
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    opens = models.PositiveIntegerField(default=0)
    last_opened_at = models.DateTimeField(null=True)

    objects = ShareQuerySet.as_manager()

    class Meta:
        verbose_name = "share link"
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(is_live=True, document__isnull=True) | Q(is_live=False, document__isnull=False),
                name="share_is_live_or_frozen",
            )
        ]
        indexes = [models.Index(fields=["team", "-id"], name="share_list")]

    def __str__(self) -> str:
        return f"link {self.pk} to {self.thing}"

    @property
    def is_ended(self) -> bool:
        """Revoked or expired."""
        return self.revoked_at is not None or self.expires_at <= timezone.now()

    @property
    def needs_maintainer(self) -> bool:
        """It publishes what only maintainers may publish."""
        return self.has_code or self.has_transcript

    def issue(self) -> str:
        """Give it a secret of 256 random bits, save it, and return the secret."""
        token = secrets.token_urlsafe(32)
        self.digest = digest(token)
        self.save()
        return token


class TeamSharing(models.Model):
    """What a team allows; a team without a row has the defaults."""

    team = models.OneToOneField(Team, models.CASCADE, related_name="sharing")
    is_open = models.BooleanField(default=True)
    longest_days = models.PositiveIntegerField(default=30)

    class Meta:
        verbose_name = "sharing rules"
        verbose_name_plural = "sharing rules"

    def __str__(self) -> str:
        return f"sharing of {self.team}"

    @classmethod
    def of(cls, team: Team) -> TeamSharing:
        """The team's rules, saved or not."""
        return cls.objects.filter(team=team).first() or cls(team=team)


class SiteSharing(models.Model):
    """The switch over every link of the site, in its one row; the operator's setting stands above it."""

    is_open = models.BooleanField(default=True)

    class Meta:
        verbose_name = "sharing of the site"
        verbose_name_plural = "sharing of the site"

    def __str__(self) -> str:
        return "all share links"

    @classmethod
    def the(cls) -> SiteSharing:
        """The row, saved or not."""
        return cls.objects.filter(pk=1).first() or cls(pk=1)

    @classmethod
    def allows(cls) -> bool:
        """Whether any link of the site may be opened."""
        return settings.SHARING and cls.the().is_open


class GuestMinuteQuerySet(models.QuerySet["GuestMinute"]):
    """Counts of requests by address."""

    def allow(self, address: str) -> bool:
        """Count one request of this minute; False when it was one too many, which then writes nothing."""
        visitor = salted_hmac("kernelsite.shares", address, algorithm="sha256").hexdigest()
        minute = int(timezone.now().timestamp()) // 60
        here = self.filter(visitor=visitor, minute=minute)
        used = here.values_list("used", flat=True).first()
        if used is None:
            self.filter(minute__lt=minute).delete()
            try:
                with transaction.atomic():
                    self.create(visitor=visitor, minute=minute, used=0)
            except IntegrityError:  # another request of the same visitor was faster
                pass
        elif used >= GuestMinute.LIMIT:
            return False
        here.update(used=F("used") + 1)
        return True


class GuestMinute(models.Model):
    """Requests of one visitor to share pages within one minute. The address itself is not kept."""

    LIMIT = 240

    visitor = models.CharField(max_length=64)
    minute = models.BigIntegerField()
    """Since 1970."""
    used = models.PositiveIntegerField(default=0)

    objects = GuestMinuteQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["visitor", "minute"], name="guest_minute_once")]

    def __str__(self) -> str:
        return f"{self.used} in minute {self.minute}"
