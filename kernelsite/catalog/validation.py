"""`WorkloadValidation`: a device worker's look at a workload, under way or done. Bound to content, so a draft's counts for its version."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import Q

from kernelsite.accounts.models import Team
from kernelsite.catalog.device_job import OPEN, DeviceJob, DeviceJobQuerySet, JobState, new_token
from search.records import TaskName
from search.validation import Validation, ValidationRequest

__all__ = ["WorkloadValidation", "new_token"]

ON_CPU = ("eager", "library")
ON_GPU = ("eager", "library", "compile")
"""Baselines that are timed. A compiled one takes a compiler longer on a processor than everything else together."""


class ValidationQuerySet(DeviceJobQuerySet["WorkloadValidation"]):
    """Many-row logic of validations."""

    def told(self) -> Self:
        """Those that say something about their workload."""
        return self.filter(state__in=[JobState.PASSED, JobState.FAILED])


class WorkloadValidation(DeviceJob):
    """One validation of one content; the document is its `search.workload.Workload`."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="workload_validations")
    slug = models.SlugField(max_length=100)

    word = "validation"
    objects = ValidationQuerySet.as_manager()

    class Meta(DeviceJob.Meta):
        constraints = [
            models.UniqueConstraint(
                fields=["team", "hash", "device_class"],
                condition=Q(state__in=[state.value for state in OPEN]),
                name="validation_one_open",
            ),
            models.CheckConstraint(condition=Q(state__in=JobState.values), name="validation_state_known"),
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

    @cached_property
    def record(self) -> Validation | None:
        """What is known, once anything is."""
        return None if self.known is None else Validation.load(self.known)

    def message(self) -> tuple[TaskName, dict[str, Any]]:
        """The whole workload goes along."""
        wanted = ValidationRequest(
            id=str(self.pk),
            token=self.token,
            workload=self.document,
            device_class=self.device_class,
            baselines=ON_CPU if self.device_class == "cpu" else ON_GPU,
            reference_s=settings.VALIDATION_REFERENCE_S,
        )
        return TaskName.VALIDATE, wanted.dump()
