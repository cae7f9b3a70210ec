"""`Search`: one search, its frozen settings, its state machine, its lease, and what pages show of it."""

from __future__ import annotations

import secrets
from functools import cached_property
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.urls import reverse
from django.utils import timezone

from kernelsite.searches.models.words import AtCap, Choice, choices, values
from search.landscapes.files import is_recorded
from search.records import SearchState, Stage, WaitReason
from search.settings import Budget, SearchSettings

if TYPE_CHECKING:
    from datetime import datetime

    from kernelsite.accounts.models import Team

S = SearchState

TRANSITIONS: dict[SearchState, frozenset[SearchState]] = {
    S.DRAFT: frozenset({S.QUEUED}),
    S.QUEUED: frozenset({S.RUNNING, S.WAITING, S.PAUSED, S.STOPPED, S.FAILED}),
    S.RUNNING: frozenset({S.WAITING, S.PAUSING, S.PAUSED, S.STOPPING, S.STOPPED, S.FINISHED, S.FAILED}),
    S.WAITING: frozenset({S.RUNNING, S.PAUSING, S.PAUSED, S.STOPPING, S.STOPPED, S.FINISHED, S.FAILED}),
    S.PAUSING: frozenset({S.RUNNING, S.PAUSED, S.STOPPING, S.STOPPED, S.FINISHED, S.FAILED}),
    S.PAUSED: frozenset({S.RUNNING, S.STOPPING, S.STOPPED, S.FAILED}),
    S.STOPPING: frozenset({S.STOPPED, S.FAILED}),
    S.STOPPED: frozenset(),
    S.FINISHED: frozenset(),
    S.FAILED: frozenset(),
}

FINAL = tuple(state.value for state in SearchState if state.is_final)
DRIVEN = tuple(state.value for state in (S.QUEUED, S.RUNNING, S.WAITING, S.PAUSING))
"""States in which a driver has something to do."""


class TransitionError(Exception):
    """The search is in a state from which that is not possible."""


class SearchQuerySet(models.QuerySet["Search"]):
    """Many-row logic of searches."""

    def of_team(self, team: Team | None) -> SearchQuerySet:
        """Those a team may see."""
        return self.filter(team=team)

    def listed(self) -> SearchQuerySet:
        """With workload and library, but not their documents: reading a library's takes milliseconds a row."""
        rows = self.select_related("workload", "library")
        return rows.defer("workload__document", "library__document")

    def driven(self) -> SearchQuerySet:
        """Those that a driver should be looking after."""
        return self.filter(state__in=DRIVEN)

    def unleased(self, now: datetime) -> SearchQuerySet:
        """Those that no driver holds."""
        return self.filter(Q(lease_until__isnull=True) | Q(lease_until__lt=now))

    def lease(self, pk: int, owner: str, until: datetime) -> int | None:
        """Take the driver's lease by compare-and-set; the new fence, or None when another driver holds it."""
        free = self.driven().filter(pk=pk).unleased(timezone.now())
        if not free.update(fence=F("fence") + 1, lease_owner=owner, lease_until=until):
            return None
        return self.filter(pk=pk, lease_owner=owner).values_list("fence", flat=True).first()


class Search(models.Model):
    """One search. Columns after `epoch` are denormalised for pages and kept in step by `fold.py`."""

    team = models.ForeignKey("accounts.Team", models.CASCADE, related_name="searches")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    title = models.CharField(max_length=200)
    workload = models.ForeignKey("catalog.WorkloadVersion", models.PROTECT, related_name="searches")
    library = models.ForeignKey("catalog.LibraryVersion", models.PROTECT, related_name="searches")
    comparison = models.ForeignKey(
        "compare.Comparison", models.CASCADE, null=True, blank=True, related_name="searches"
    )
    idempotency_key = models.CharField(max_length=100)
    settings = models.JSONField()
    strategy = models.CharField(max_length=50)
    agent = models.CharField(max_length=50)
    language = models.CharField(max_length=20)
    device_class = models.CharField(max_length=50)
    seed = models.PositiveIntegerField()
    evaluations_cap = models.PositiveIntegerField()

    endpoints = models.JSONField(default=list, blank=True)
    """As chosen: `Endpoint` without key and prices, and its `id`; empty without a model."""
    model_choice = models.CharField(max_length=10, choices=choices(Choice), default=Choice.SHARE.value)
    at_cap = models.CharField(max_length=10, choices=choices(AtCap), default=AtCap.FINISH.value)
    transcript = models.CharField(max_length=100, blank=True, default="")
    """What a `replay` answers from: `shipped:<name>` or `search:<id>`."""
    tokens_cap = models.PositiveBigIntegerField(null=True)
    """The present cap: at first the settings', until a person moves it."""
    cost_usd_cap = models.FloatField(null=True)
    calls_closed = models.CharField(max_length=10, blank=True, default="")
    """`tokens` or `cost`: the cap that allows no further call."""
    calls_until = models.DateTimeField(null=True)
    """No call before this moment: a provider asked for it, or does not answer."""
    refusals_after = models.PositiveBigIntegerField(default=0)
    """Id of the last call when refusals last paused the search; those up to it are forgiven."""

    state = models.CharField(max_length=20, choices=choices(SearchState), default=S.QUEUED.value)
    wait_reason = models.CharField(max_length=20, choices=choices(WaitReason), blank=True, default="")
    stage = models.CharField(max_length=20, choices=choices(Stage), default=Stage.EXPLORE.value)
    reason = models.CharField(max_length=300, blank=True, default="")
    fence = models.PositiveIntegerField(default=0)
    lease_owner = models.CharField(max_length=40, blank=True, default="")
    lease_until = models.DateTimeField(null=True)
    gate_since = models.DateTimeField(null=True)
    """Since when it waits for a reviewer."""
    gate_wait_s = models.FloatField(default=0.0)
    """Seconds that it waited for reviewers before; they are not charged."""
    event_seq = models.PositiveIntegerField(default=0)
    epoch = models.CharField(max_length=16)

    step_count = models.PositiveIntegerField(default=0)
    queued_count = models.PositiveIntegerField(default=0)
    running_count = models.PositiveIntegerField(default=0)
    passed_count = models.PositiveIntegerField(default=0)
    failed_count = models.PositiveIntegerField(default=0)
    infra_count = models.PositiveIntegerField(default=0)
    reused_count = models.PositiveIntegerField(default=0)
    structure_count = models.PositiveIntegerField(default=0)
    evaluations_spent = models.PositiveIntegerField(default=0)
    device_seconds_spent = models.FloatField(default=0.0)
    tokens_spent = models.PositiveIntegerField(default=0)
    cost_usd_spent = models.FloatField(default=0.0)
    best_candidate = models.CharField(max_length=60, blank=True, default="")
    """Short id of the candidate row, e.g. `142.3.007c`."""
    best_structure = models.CharField(max_length=40, blank=True, default="")
    best_speedup = models.FloatField(null=True)
    best_low = models.FloatField(null=True)
    best_high = models.FloatField(null=True)
    best_median_us = models.FloatField(null=True)
    best_baseline = models.CharField(max_length=200, blank=True, default="")
    best_confirmed = models.BooleanField(default=False)

    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    last_event_at = models.DateTimeField(null=True)

    objects = SearchQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "searches"
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["team", "idempotency_key"], name="search_one_per_key"),
            models.CheckConstraint(condition=Q(state__in=values(SearchState)), name="search_state_known"),
            models.CheckConstraint(
                condition=Q(state=S.WAITING.value, wait_reason__in=values(WaitReason))
                | (~Q(state=S.WAITING.value) & Q(wait_reason="")),
                name="search_waits_for_a_reason",
            ),
            models.CheckConstraint(
                condition=Q(state__in=FINAL, finished_at__isnull=False)
                | (~Q(state__in=FINAL) & Q(finished_at__isnull=True)),
                name="search_final_has_an_end",
            ),
            models.CheckConstraint(
                condition=Q(evaluations_spent__lte=F("evaluations_cap")), name="search_within_budget"
            ),
        ]
        indexes = [
            # The sweeper and the driver look for live searches only.
            models.Index(fields=["lease_until"], name="search_driven", condition=Q(state__in=DRIVEN)),
            models.Index(fields=["team", "-id"], name="search_list"),
        ]

    def __str__(self) -> str:
        return f"{self.short} {self.title}"

    def save(self, *args: object, **kwargs: object) -> None:
        """Give a new search its epoch: sequence numbers of another epoch mean nothing."""
        self.epoch = self.epoch or secrets.token_hex(4)
        super().save(*args, **kwargs)  # type: ignore[arg-type]  # passed on unread

    def get_absolute_url(self) -> str:
        """Page of the search."""
        return reverse("searches:search", args=[self.pk])

    @property
    def short(self) -> str:
        """Name for people, e.g. `S-142`."""
        return f"S-{self.pk}"

    @cached_property
    def record(self) -> SearchSettings:
        """The frozen settings."""
        return SearchSettings.load(self.settings)

    @property
    def caps(self) -> Budget:
        """The budget with the caps on tokens and money as they are now."""
        moved = {"tokens": self.tokens_cap, "cost_usd": self.cost_usd_cap}
        return self.record.budget.model_copy(update=moved)

    @property
    def is_final(self) -> bool:
        """Nothing more will happen."""
        return SearchState(self.state).is_final

    @property
    def is_recorded(self) -> bool:
        """Its numbers come from a landscape; its baseline says from which device and day."""
        return is_recorded(self.device_class)

    @property
    def is_waiting_for_device(self) -> bool:
        """No device of its class is online."""
        return self.state == S.WAITING and self.wait_reason == WaitReason.DEVICE

    @property
    def is_at_gate(self) -> bool:
        """It waits for a reviewer's decision."""
        return self.state == S.WAITING and self.wait_reason == WaitReason.REVIEW

    @property
    def uncharged_s(self) -> float:
        """Seconds that it has waited for reviewers so far."""
        now = timezone.now()
        return self.gate_wait_s + (now - (self.gate_since or now)).total_seconds()

    def move(self, state: SearchState, *, wait: WaitReason | None = None, reason: str = "") -> None:
        """Change state in memory; the only place where a search's state changes.

        Raises:
            TransitionError: the state machine has no such edge.
        """
        if state is not S(self.state) and state not in TRANSITIONS[S(self.state)]:
            raise TransitionError(f"{self.short} is {self.state} and cannot become {state}")
        self.state = state
        self.wait_reason = wait or ""
        # Why a search waited says nothing once it runs.
        self.reason = "" if state is S.RUNNING else reason[:300] or self.reason
        if state is S.RUNNING and self.started_at is None:
            self.started_at = timezone.now()
        self._keep_gate_clock()
        if state.is_final:
            self.finished_at, self.lease_owner, self.lease_until = timezone.now(), "", None

    def _keep_gate_clock(self) -> None:
        """Start or stop the clock of what is not charged."""
        if self.is_at_gate:
            self.gate_since = self.gate_since or timezone.now()
        else:
            self.gate_wait_s, self.gate_since = self.uncharged_s, None
