"""`WorkloadValidation`: a device worker's look at a workload, under way or done. Bound to content, so a draft's counts for its version."""

from __future__ import annotations

import secrets
from functools import cached_property
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from kernelsite.accounts.models import Team
from search.validation import Validation


class ValidationState(models.TextChoices):
    """Life of a validation."""

    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    PASSED = "passed", "Passed"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"


OPEN = (ValidationState.QUEUED, ValidationState.RUNNING)


def new_token() -> str:
    """Secret of one attempt: a result without it is not taken."""
    return secrets.token_hex(16)


class ValidationQuerySet(models.QuerySet["WorkloadValidation"]):
    """Many-row logic of validations."""

    def of_team(self, team: Team | None) -> Self:
        """Those a team may see."""
        return self.filter(team=team)

    def open(self) -> Self:
        """Those that are not over."""
        return self.filter(state__in=OPEN)

    def told(self) -> Self:
        """Those that say something about their workload."""
        return self.filter(state__in=[ValidationState.PASSED, ValidationState.FAILED])

    def addressed(self, pk: int, token: str) -> Self:
        """The one that a worker speaks of, while it is open."""
        return self.open().filter(pk=pk, token=token)


class WorkloadValidation(models.Model):
    """One validation of one content on one device class, through all its attempts."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="workload_validations")
    hash = models.CharField(max_length=64)
    """Content hash of the workload."""
    slug = models.SlugField(max_length=100)
    document = models.JSONField()
    """`search.workload.Workload`: a draft may be gone before a worker comes."""
    device_class = models.CharField(max_length=50)
    state = models.CharField(max_length=20, choices=ValidationState, default=ValidationState.QUEUED)
    attempt = models.PositiveIntegerField(default=1)
    token = models.CharField(max_length=32, default=new_token)
    sent_at = models.DateTimeField(default=timezone.now)
    """Last time it was given to the broker."""
    lease_until = models.DateTimeField(null=True)
    known = models.JSONField(null=True)
    """`search.validation.Validation`: what is known so far, at the end all of it."""
    note = models.CharField(max_length=300, blank=True, default="")
    """Why an attempt was lost, or who cancelled it."""
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    objects = ValidationQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["team", "hash", "device_class"],
                condition=Q(state__in=[state.value for state in OPEN]),
                name="validation_one_open",
            ),
            models.CheckConstraint(
                condition=Q(state__in=ValidationState.values), name="validation_state_known"
            ),
        ]
        indexes = [
            models.Index(fields=["team", "hash"], name="validation_of_content"),
            # The sweeper looks for open ones only.
            models.Index(
                fields=["state", "lease_until"],
                name="validation_open",
                condition=Q(state__in=[state.value for state in OPEN]),
            ),
        ]

    def __str__(self) -> str:
        return f"validation of {self.slug} on {self.device_class}"

    @property
    def is_open(self) -> bool:
        """Its end is still awaited."""
        return self.state in OPEN

    @cached_property
    def record(self) -> Validation | None:
        """What is known, once anything is."""
        return None if self.known is None else Validation.load(self.known)
