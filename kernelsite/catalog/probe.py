"""`WorkloadProbe`: a program of an import that a device worker runs once, under way or done."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from kernelsite.accounts.models import Team
from kernelsite.catalog.device_job import OPEN, DeviceJob, DeviceJobQuerySet, JobState
from kernelsite.catalog.imported import WorkloadImport
from search.formats.probes import Probe, ProbeAnswer, ProbeRequest
from search.records import TaskName


class WorkloadProbe(DeviceJob):
    """One run of one program; the document is a `search.formats.probes.Probe`."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="+")
    upload = models.ForeignKey(WorkloadImport, models.CASCADE, related_name="runs")
    place = models.PositiveIntegerField()
    """Of the program in the import's report."""
    task = models.CharField(max_length=20)
    """`search.formats.probes.ProbeTask`."""

    word = "probe"
    objects = DeviceJobQuerySet["WorkloadProbe"].as_manager()

    class Meta(DeviceJob.Meta):
        constraints = [
            models.UniqueConstraint(
                fields=["upload", "place", "task"],
                condition=Q(state__in=[state.value for state in OPEN]),
                name="probe_one_open",
            ),
            models.CheckConstraint(condition=Q(state__in=JobState.values), name="probe_state_known"),
        ]
        indexes = [
            # The sweeper looks for open ones only.
            models.Index(
                fields=["state", "lease_until"],
                name="probe_open",
                condition=Q(state__in=[state.value for state in OPEN]),
            ),
        ]

    def __str__(self) -> str:
        return f"run of {self.program.where} on {self.device_class}"[:200]

    @cached_property
    def program(self) -> Probe:
        """What is run."""
        return Probe.load(self.document)

    @cached_property
    def answer(self) -> ProbeAnswer | None:
        """What became of it, once anything has."""
        return None if self.known is None else ProbeAnswer.load(self.known)

    def message(self) -> tuple[TaskName, dict[str, Any]]:
        """The whole program goes along."""
        wanted = {
            "id": str(self.pk),
            "token": self.token,
            "program": self.document,
            "task": self.task,
            "device_class": self.device_class,
            "patience_s": settings.VALIDATION_REFERENCE_S,
        }
        return TaskName.PROBE, ProbeRequest.load(wanted).dump()
