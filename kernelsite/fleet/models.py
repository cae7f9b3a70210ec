"""`Device`: one device of a worker, kept fresh by its `fleet.hello` messages."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

if TYPE_CHECKING:
    from datetime import datetime

WORDS = ("model", "driver", "runtime", "sandbox", "cores")
WORD_LIMIT = 200


class DeviceState(models.TextChoices):
    """What a person decided about a device; whether it is heard of is a matter of `last_seen_at`."""

    OK = "ok", "In use"
    DRAINING = "draining", "Takes nothing new"
    QUARANTINED = "quarantined", "Shut out"


class DeviceQuerySet(models.QuerySet["Device"]):
    """Many-row logic of devices."""

    def online(self) -> Self:
        """Those in use, fit and heard of lately."""
        return self.filter(state=DeviceState.OK, quarantine="", last_seen_at__gt=_silent_since())

    def hello(self, facts: dict[str, Any]) -> Device:
        """Note that a device lives and what it says of itself; the message is not to be trusted.

        Raises:
            KeyError: it does not say its name or class.
        """
        told = {word: _plain(facts[word]) for word in WORDS if facts.get(word) is not None}
        told["quarantine"] = _plain(facts.get("quarantined") or "")
        device, _ = self.update_or_create(
            name=_plain(facts["name"]),
            device_class=_plain(facts["device_class"])[:50],
            defaults=told | {"last_seen_at": timezone.now()},
        )
        return device


class Device(models.Model):
    """One device of one host, as its worker describes it."""

    name = models.CharField(max_length=WORD_LIMIT)
    """Host and device; unique within its class."""
    device_class = models.CharField(max_length=50)
    model = models.CharField(max_length=WORD_LIMIT, blank=True, default="")
    driver = models.CharField(max_length=WORD_LIMIT, blank=True, default="")
    runtime = models.CharField(max_length=WORD_LIMIT, blank=True, default="")
    sandbox = models.CharField(max_length=WORD_LIMIT, blank=True, default="")
    cores = models.CharField(max_length=WORD_LIMIT, blank=True, default="")
    """Cores that candidates run on, e.g. `1` or `2,3`."""
    quarantine = models.CharField(max_length=WORD_LIMIT, blank=True, default="")
    """Why its own worker shut it out after repeated faults; empty while it judges."""
    state = models.CharField(max_length=20, choices=DeviceState, default=DeviceState.OK)
    first_seen_at = models.DateTimeField(default=timezone.now)
    last_seen_at = models.DateTimeField()

    objects = DeviceQuerySet.as_manager()

    class Meta:
        ordering = ["device_class", "name"]
        constraints = [
            models.UniqueConstraint(fields=["device_class", "name"], name="device_once"),
            models.CheckConstraint(condition=Q(state__in=DeviceState.values), name="device_state_known"),
        ]

    def __str__(self) -> str:
        return f"{self.device_class} {self.name}"

    @property
    def is_online(self) -> bool:
        """In use, fit and heard of lately."""
        in_use = self.state == DeviceState.OK and not self.quarantine
        return in_use and self.last_seen_at > _silent_since()


def _silent_since() -> datetime:
    return timezone.now() - timedelta(seconds=settings.DEVICE_SILENCE_S)


def _plain(word: object) -> str:
    """Text of a stranger: one line, printable, short."""
    return "".join(sign for sign in str(word) if sign.isprintable())[:WORD_LIMIT]
