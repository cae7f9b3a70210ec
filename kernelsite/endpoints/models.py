"""`ModelEndpoint`: one model at one address with a team's key; `Price`: what it costs from a day on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.urls import reverse
from django.utils import timezone
from pydantic import SecretStr

from kernelsite.accounts.models import Team
from kernelsite.endpoints import vault
from search.agents.llm.endpoint import Endpoint, Prices
from search.agents.llm.outcomes import CallOutcome

if TYPE_CHECKING:
    from datetime import date

ANSWERING = (CallOutcome.OK, CallOutcome.TRUNCATED, CallOutcome.REFUSED, CallOutcome.EMPTY)
"""Outcomes of a test that show a working endpoint."""
HINT = 4
"""Last characters of a key that stay readable, so that people can tell keys apart."""


def origin_of(url: str) -> str:
    """Scheme, host and port of an address, in lower case."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()


class EndpointQuerySet(models.QuerySet["ModelEndpoint"]):
    """Many-row logic of endpoints."""

    def of_team(self, team: Team | None) -> Self:
        """Those a team may see; deleted ones are gone for everybody."""
        return self.filter(team=team, deleted_at__isnull=True)

    def usable(self) -> Self:
        """Those that a new search may choose."""
        return self.filter(is_disabled=False, deleted_at__isnull=True)


class ModelEndpoint(models.Model):
    """A deleted endpoint keeps its row for the calls that were made over it, without its key."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="endpoints")
    name = models.CharField(max_length=80)
    base_url = models.CharField(max_length=300)
    model = models.CharField(max_length=200)
    sealed_key = models.TextField(blank=True, default="")
    key_hint = models.CharField(max_length=HINT, blank=True, default="")
    temperature = models.FloatField(null=True, blank=True)
    max_output_tokens = models.PositiveIntegerField(default=8192)
    context_tokens = models.PositiveIntegerField(default=32768)
    json_schema = models.BooleanField(default=False)
    streaming = models.BooleanField(default=False)
    concurrency = models.PositiveIntegerField(default=4)
    requests_per_minute = models.PositiveIntegerField(null=True, blank=True)
    deadline_s = models.FloatField(default=240.0)
    is_disabled = models.BooleanField(default=False)
    limited_until = models.DateTimeField(null=True)
    """The provider asked not to be called before; shared by every search with this key."""
    tested_at = models.DateTimeField(null=True)
    test_outcome = models.CharField(max_length=30, blank=True, default="")
    """`CallOutcome` of the last test."""
    test_note = models.CharField(max_length=500, blank=True, default="")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    deleted_at = models.DateTimeField(null=True)

    objects = EndpointQuerySet.as_manager()

    class Meta:
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["team", "name"], condition=Q(deleted_at__isnull=True), name="endpoint_name"
            ),
            models.CheckConstraint(
                condition=Q(deleted_at__isnull=True) | Q(sealed_key=""), name="endpoint_deleted_has_no_key"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        """Page of the endpoint."""
        return reverse("endpoints:endpoint", args=[self.pk])

    @property
    def host(self) -> str:
        """Host and port, for people."""
        return self.record_without_key.host

    @property
    def origin(self) -> str:
        """Scheme, host and port: a key never goes anywhere else, nor in the clear where it went encrypted."""
        return origin_of(self.base_url)

    @property
    def record_without_key(self) -> Endpoint:
        """What the client needs but the key; prices are those of today."""
        return Endpoint(
            name=self.name,
            base_url=self.base_url,
            model=self.model,
            temperature=self.temperature,
            max_output_tokens=self.max_output_tokens,
            context_tokens=self.context_tokens,
            json_schema=self.json_schema,
            streaming=self.streaming,
            concurrency=self.concurrency,
            requests_per_minute=self.requests_per_minute,
            prices=self.prices_on(timezone.localdate()),
            deadline_s=self.deadline_s,
        )

    @property
    def is_reachable(self) -> bool:
        """Whether the last test was answered."""
        return self.test_outcome in ANSWERING

    def open_record(self) -> Endpoint:
        """What the client needs, with the key.

        Raises:
            vault.SealedKeyError: the stored key does not open.
        """
        record = self.record_without_key
        if not self.sealed_key:
            return record
        return record.model_copy(update={"api_key": SecretStr(vault.unseal(self.sealed_key, self.origin))})

    def set_key(self, key: str) -> None:
        """Keep a key for the origin of the present address; empty takes it away."""
        self.sealed_key = vault.seal(key, self.origin) if key else ""
        # Of a short key the last characters would be most of it.
        self.key_hint = key[-HINT:] if len(key) >= 4 * HINT else ""

    def prices_on(self, day: date) -> Prices | None:
        """The newest price that is in force on a day; None: unknown."""
        row = self.prices.in_force(day).first()
        return row.record if row else None


class PriceQuerySet(models.QuerySet["Price"]):
    """Many-row logic of prices."""

    def in_force(self, day: date) -> Self:
        """Those whose days include this one, newest first."""
        until = Q(valid_until__isnull=True) | Q(valid_until__gte=day)
        return self.filter(until, valid_from__lte=day).order_by("-valid_from", "-id")


class Price(models.Model):
    """USD per million tokens from a day on, until its last day or the next row's first."""

    endpoint = models.ForeignKey(ModelEndpoint, models.CASCADE, related_name="prices")
    input_usd = models.FloatField()
    cached_usd = models.FloatField(null=True, blank=True)
    output_usd = models.FloatField()
    valid_from = models.DateField(default=timezone.localdate)
    valid_until = models.DateField(null=True, blank=True)
    """Last day."""

    objects = PriceQuerySet.as_manager()

    class Meta:
        ordering = ["-valid_from", "-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(input_usd__gte=0, output_usd__gte=0)
                & (Q(cached_usd__isnull=True) | Q(cached_usd__gte=0)),
                name="price_not_negative",
            ),
            models.CheckConstraint(
                condition=Q(valid_until__isnull=True) | Q(valid_until__gte=F("valid_from")),
                name="price_ends_after_it_begins",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.endpoint} from {self.valid_from}"

    @property
    def record(self) -> Prices:
        """As the client knows it."""
        return Prices(input_usd=self.input_usd, cached_usd=self.cached_usd, output_usd=self.output_usd)
