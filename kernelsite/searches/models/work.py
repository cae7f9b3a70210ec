"""`Step` and `Evaluation`: what was asked, and every attempt to measure it."""

from __future__ import annotations

import secrets
from functools import cached_property

from django.db import models
from django.db.models import Q
from django.utils import timezone

from kernelsite.searches.models.search import Search
from kernelsite.searches.models.tree import Candidate, Structure
from kernelsite.searches.models.words import OPEN_ATTEMPTS, AttemptState, StepState, choices
from search import records, steps
from search.records import DraftKind, EvaluationStatus, Purpose, Stage, Tier

PURPOSE_SUFFIX: dict[str, str] = {
    Purpose.SEARCH: "",
    Purpose.CONFIRM: "c",
    Purpose.PROMOTE: "p",
    Purpose.VALIDATE: "v",
    Purpose.BASELINE: "b",
    Purpose.REMEASURE: "r",
}


BESIDE = (Purpose.PROMOTE.value, Purpose.REMEASURE.value)
"""Purposes of measurements that a person asks for, outside the search: they cost it nothing and move no best."""


def new_token() -> str:
    """Secret of one attempt: a result without it is not counted."""
    return secrets.token_hex(16)


class Step(models.Model):
    """One numbered step. `outcome` is written once, by compare-and-set on `state`."""

    search = models.ForeignKey(Search, models.CASCADE, related_name="steps")
    number = models.PositiveIntegerField()
    item = models.JSONField()
    """`search.steps.Draft` or `Variant`."""
    kind = models.CharField(max_length=20, choices=[*choices(DraftKind), ("variant", "variant")])
    stage = models.CharField(max_length=20, choices=choices(Stage))
    state = models.CharField(max_length=20, choices=choices(StepState))
    attempt = models.PositiveIntegerField(default=0)
    """How often an agent has taken it."""
    lease_until = models.DateTimeField(null=True)
    structure = models.ForeignKey(Structure, models.CASCADE, null=True, related_name="steps")
    candidate = models.ForeignKey(Candidate, models.CASCADE, null=True, related_name="steps")
    tier = models.CharField(max_length=10, choices=choices(Tier), default=Tier.FAST.value)
    purpose = models.CharField(max_length=20, choices=choices(Purpose), default=Purpose.SEARCH.value)
    proposal = models.JSONField(null=True)
    """Blueprint, usage and note of the agent's answer."""
    outcome = models.JSONField(null=True)
    """`search.steps.Outcome`, once known."""
    asked_at = models.DateTimeField(default=timezone.now)
    done_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["search", "number"]
        constraints = [
            models.UniqueConstraint(fields=["search", "number"], name="step_number"),
            models.CheckConstraint(
                condition=Q(state=StepState.DONE.value, outcome__isnull=False)
                | (~Q(state=StepState.DONE.value) & Q(outcome__isnull=True)),
                name="step_done_has_an_outcome",
            ),
        ]
        indexes = [
            # The sweeper looks for steps that wait for an agent.
            models.Index(
                fields=["lease_until"],
                name="step_open_draft",
                condition=Q(state__in=[StepState.ASKED.value, StepState.PROPOSING.value]),
            ),
        ]

    def __str__(self) -> str:
        return f"S-{self.search_id} step {self.number}"

    @property
    def record(self) -> steps.Step:
        """The step as the engine knows it."""
        return steps.Step.load({"item": self.item, "outcome": self.outcome})

    @property
    def is_draft(self) -> bool:
        """An agent answers it."""
        return self.kind != "variant"


class Evaluation(models.Model):
    """One attempt to measure a candidate. Rows are never deleted; at most one of them counts."""

    search = models.ForeignKey(Search, models.CASCADE, related_name="evaluations")
    candidate = models.ForeignKey(Candidate, models.CASCADE, related_name="evaluations")
    step = models.ForeignKey(Step, models.CASCADE, related_name="evaluations")
    purpose = models.CharField(max_length=20, choices=choices(Purpose))
    tier = models.CharField(max_length=10, choices=choices(Tier))
    attempt = models.PositiveIntegerField(default=1)
    current = models.BooleanField(default=True)
    """The attempt that stands for its (candidate, purpose) on pages."""
    token = models.CharField(max_length=32, default=new_token)
    state = models.CharField(max_length=20, choices=choices(AttemptState), default=AttemptState.QUEUED.value)
    sent_at = models.DateTimeField(default=timezone.now)
    """Last time it was given to the broker."""
    lease_until = models.DateTimeField(null=True)
    counted = models.BooleanField(default=False)
    charged = models.BooleanField(default=False)
    order = models.PositiveIntegerField(null=True)
    """This was the k-th charged evaluation of the search."""
    environment_key = models.CharField(max_length=64, blank=True, default="")
    status = models.CharField(max_length=30, choices=choices(EvaluationStatus), blank=True, default="")
    speedup = models.FloatField(null=True)
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    median_us = models.FloatField(null=True)
    baseline = models.CharField(max_length=200, blank=True, default="")
    device_seconds = models.FloatField(default=0.0)
    spent_device_seconds = models.FloatField(null=True)
    """Device seconds of the search up to and with this one."""
    spent_tokens = models.PositiveBigIntegerField(null=True)
    """Model tokens of the search up to and with this one."""
    spent_cost_usd = models.FloatField(null=True)
    result = models.JSONField(null=True)
    """`search.records.Evaluation`, with samples: read it for one row only."""
    note = models.CharField(max_length=200, blank=True, default="")
    """Why it does not count, for people."""
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["search", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["candidate", "environment_key", "tier", "purpose"],
                condition=Q(counted=True),
                name="evaluation_one_counted",
            ),
            models.UniqueConstraint(
                fields=["candidate", "purpose"], condition=Q(current=True), name="evaluation_one_current"
            ),
            models.UniqueConstraint(fields=["step", "attempt"], name="evaluation_attempt"),
            models.UniqueConstraint(
                fields=["search", "order"], condition=Q(order__isnull=False), name="evaluation_order"
            ),
            models.CheckConstraint(
                condition=Q(counted=False) | (Q(state=AttemptState.DONE.value) & ~Q(environment_key="")),
                name="evaluation_counted_is_done",
            ),
            models.CheckConstraint(
                condition=Q(counted=True) | Q(charged=False), name="evaluation_charged_is_counted"
            ),
        ]
        indexes = [
            # The sweeper looks for open attempts only.
            models.Index(
                fields=["state", "lease_until"], name="evaluation_open", condition=Q(state__in=OPEN_ATTEMPTS)
            ),
        ]

    def __str__(self) -> str:
        return f"attempt {self.attempt} of {self.candidate_id} ({self.purpose}): {self.state}"

    @property
    def is_open(self) -> bool:
        """A result is still awaited."""
        return self.state in OPEN_ATTEMPTS

    @property
    def is_beside(self) -> bool:
        """It is no part of the search's own work (`kernelsite.searches.beside`)."""
        return self.purpose in BESIDE

    @property
    def key(self) -> str:
        """Short id of the row on pages, e.g. `142.17.031c`; reads candidate and structure."""
        return self.candidate.key + PURPOSE_SUFFIX[self.purpose]

    @cached_property
    def record(self) -> records.Evaluation | None:
        """The judge's answer, once there is one."""
        return None if self.result is None else records.Evaluation.load(self.result)
