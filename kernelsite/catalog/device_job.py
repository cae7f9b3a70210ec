"""`DeviceJob`: what a device worker is asked for beside evaluations, through all its attempts. Kinds are validations and probes."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, Self, TypeVar

from django.conf import settings
from django.db import models
from django.utils import timezone

if TYPE_CHECKING:
    from kernelsite.accounts.models import Team
    from search.records import TaskName

_Job = TypeVar("_Job", bound="DeviceJob", covariant=True)


class JobState(models.TextChoices):
    """Life of a job."""

    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    PASSED = "passed", "Passed"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"


OPEN = (JobState.QUEUED, JobState.RUNNING)


def new_token() -> str:
    """Secret of one attempt: a result without it is not taken."""
    return secrets.token_hex(16)


class DeviceJobQuerySet(models.QuerySet[_Job]):
    """Many-row logic of jobs."""

    def of_team(self, team: Team | None) -> Self:
        """Those a team may see."""
        return self.filter(team=team)

    def open(self) -> Self:
        """Those that are not over."""
        return self.filter(state__in=OPEN)

    def addressed(self, pk: int, token: str) -> Self:
        """The one that a worker speaks of, while it is open."""
        return self.open().filter(pk=pk, token=token)


class DeviceJob(models.Model):
    """One job on one device class."""

    hash = models.CharField(max_length=64)
    """Of the content that it is about."""
    document = models.JSONField()
    """What the worker is given of it; an upload or a draft may be gone before a worker comes."""
    device_class = models.CharField(max_length=50)
    state = models.CharField(max_length=20, choices=JobState, default=JobState.QUEUED)
    attempt = models.PositiveIntegerField(default=1)
    token = models.CharField(max_length=32, default=new_token)
    sent_at = models.DateTimeField(default=timezone.now)
    """Last time it was given to the broker."""
    lease_until = models.DateTimeField(null=True)
    known = models.JSONField(null=True)
    """What is known so far, at the end all of it."""
    note = models.CharField(max_length=300, blank=True, default="")
    """Why an attempt was lost, or who cancelled it."""
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    word = ""
    """Of the kind, in the ids of its messages."""

    class Meta:
        abstract = True
        ordering = ["-id"]

    @property
    def is_open(self) -> bool:
        """Its end is still awaited."""
        return self.state in OPEN

    @property
    def message_id(self) -> str:
        """Broker id of the attempt's message, by which the sweeper finds it in the queue."""
        return f"{self.word}-{self.pk}-{self.attempt}"

    def message(self) -> tuple[TaskName, dict[str, Any]]:
        """What the worker is asked, and by which task."""
        raise NotImplementedError
