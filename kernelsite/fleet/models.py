"""`Device`: one device of a worker, kept fresh by its `fleet.hello` messages; `Sample`: what its gauges said."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from kernelsite.fleet.gauges import readings

if TYPE_CHECKING:
    from datetime import datetime

WORDS = ("model", "driver", "runtime", "sandbox", "cores", "node")
WORD_LIMIT = 200
MOST_IN_HAND = 64
SAMPLES_KEPT = timedelta(hours=1)


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

    def is_walled(self, device_class: str) -> bool:
        """Whether every online device of a class runs programs in a sandbox: what strangers wrote runs nowhere else."""
        return not self.online().filter(device_class=device_class, sandbox__icontains="unsandboxed").exists()

    def hello(self, facts: dict[str, Any]) -> Device:
        """Note that a device lives, what it says of itself and what its gauges say; the message is not to be trusted.

        Raises:
            KeyError: it does not say its name or class.
        """
        told: dict[str, Any] = {word: _plain(facts[word]) for word in WORDS if facts.get(word) is not None}
        told["quarantine"] = _plain(facts.get("quarantined") or "")
        told["takes_work"] = facts["open"] if isinstance(facts.get("open"), bool) else None
        told["in_hand"] = _ids(facts.get("now"))
        device, _ = self.update_or_create(
            name=_plain(facts["name"]),
            device_class=_plain(facts["device_class"])[:50],
            defaults=told | {"last_seen_at": timezone.now()},
        )
        if values := readings(facts.get("gauges")):
            device.samples.filter(at__lt=timezone.now() - SAMPLES_KEPT).delete()
            device.samples.create(**values)
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
    node = models.CharField(max_length=WORD_LIMIT, blank=True, default="")
    """Name of its worker on the broker, by which it can be told to take no more work."""
    takes_work = models.BooleanField(null=True)
    """Whether its worker takes messages now; None when it does not say."""
    in_hand = models.JSONField(default=list)
    """Numbers of the evaluations that it judges now."""
    quarantine = models.CharField(max_length=WORD_LIMIT, blank=True, default="")
    """Why its own worker shut it out after repeated faults; empty while it judges."""
    state = models.CharField(max_length=20, choices=DeviceState, default=DeviceState.OK)
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    """Who last drained or enabled it."""
    changed_at = models.DateTimeField(null=True)
    reason = models.CharField(max_length=WORD_LIMIT, blank=True, default="")
    """Why, in that person's words."""
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
    def is_heard(self) -> bool:
        """It has said hello lately."""
        return self.last_seen_at > _silent_since()

    @property
    def is_online(self) -> bool:
        """In use, fit and heard of lately."""
        return self.state == DeviceState.OK and not self.quarantine and self.is_heard

    @property
    def word(self) -> str:
        """Its state in one word of the site's vocabulary."""
        if self.quarantine or self.state == DeviceState.QUARANTINED:
            return "shut out"
        if not self.is_heard:
            return "offline"
        if self.state == DeviceState.DRAINING:
            return "draining" if self.in_hand else "drained"
        return "busy" if self.in_hand else "online"


class Sample(models.Model):
    """Gauges of a device at one hello; kept for an hour."""

    device = models.ForeignKey(Device, models.CASCADE, related_name="samples")
    at = models.DateTimeField(default=timezone.now)
    busy_share = models.FloatField(null=True)
    """Share of the time since the hello before in which it judged."""
    temperature_c = models.FloatField(null=True)
    sm_clock_mhz = models.FloatField(null=True)
    power_w = models.FloatField(null=True)
    memory_used_bytes = models.FloatField(null=True)

    class Meta:
        ordering = ["at"]
        indexes = [models.Index(fields=["device", "at"], name="sample_of_device")]

    def __str__(self) -> str:
        return f"{self.device_id} at {self.at:%H:%M:%S}"


def _silent_since() -> datetime:
    return timezone.now() - timedelta(seconds=settings.DEVICE_SILENCE_S)


def _plain(word: object) -> str:
    """Text of a stranger: one line, printable, short."""
    return "".join(sign for sign in str(word) if sign.isprintable())[:WORD_LIMIT]


def _ids(numbers: object) -> list[int]:
    """Evaluation numbers of a stranger; anything else is passed over."""
    if not isinstance(numbers, list):
        return []
    words = (str(number) for number in numbers[:MOST_IN_HAND])
    return [int(word) for word in words if word.isascii() and word.isdecimal() and len(word) <= 18]
