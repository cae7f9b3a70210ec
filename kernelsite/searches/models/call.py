"""`ModelCall`: one sending of a question to a model: its place in the ledger, and its transcript."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING

from django.db import models
from django.db.models import Count, Max, Q, Sum
from django.utils import timezone

from kernelsite.endpoints.models import ModelEndpoint
from kernelsite.searches.models.search import Search
from kernelsite.searches.models.words import CallState, choices, values
from kernelsite.searches.models.work import Step
from search.agents.llm.outcomes import Attempt, CallOutcome, CallRecord, Charge, ModelReply

if TYPE_CHECKING:
    from typing import Any, Self

TEXTS = ("attempt", "reply")
"""Columns that lists never read."""


class CallQuerySet(models.QuerySet["ModelCall"]):
    """Many-row logic of calls."""

    def committed(self) -> tuple[int, float]:
        """Tokens and USD that count against the caps: reserved, settled and unknown ones together."""
        sums = self.aggregate(tokens=Sum("tokens"), usd=Sum("usd"))
        return sums["tokens"] or 0, sums["usd"] or 0.0

    def spent(self) -> tuple[int, float]:
        """The part of it that will not come back: without what is only reserved."""
        return self.exclude(state=CallState.RESERVED).committed()

    def by_model(self) -> list[dict[str, Any]]:
        """Calls, tokens, money and time of each endpoint and model, dearest first."""
        rows = self.order_by().values("endpoint_name", "host", "model")
        sums = rows.annotate(
            calls=Count("id"),
            answers=Count("id", filter=Q(outcome=CallOutcome.OK)),
            prompt=Sum("prompt_tokens"),
            cached=Sum("cached_tokens"),
            completion=Sum("completion_tokens"),
            charged=Sum("tokens"),
            cost=Sum("usd"),
            held=Sum("tokens", filter=Q(state=CallState.RESERVED)),
            held_cost=Sum("usd", filter=Q(state=CallState.RESERVED)),
            slowest_s=Max("latency_s"),
            unknown=Count("id", filter=Q(state=CallState.UNKNOWN)),
            estimated=Count("id", filter=Q(is_estimated=True)),
            unpriced=Count("id", filter=Q(ceiling_usd__isnull=True)),
        )
        rows_by_cost = list(sums.order_by("-cost", "-charged", "endpoint_name"))
        names = self._names() if rows_by_cost else {}
        return [{**row, "answered_as": names.get(row["endpoint_name"], [])} for row in rows_by_cost]

    def _names(self) -> dict[str, list[str]]:
        """What each endpoint's answers called their model; more than one name: it changed under the search."""
        pairs = self.exclude(model_returned="").order_by("endpoint_name", "model_returned")
        names: dict[str, list[str]] = defaultdict(list)
        for endpoint, model in pairs.values_list("endpoint_name", "model_returned").distinct():
            names[endpoint].append(model)
        return names

    def without_texts(self) -> Self:
        """For lists."""
        return self.defer(*TEXTS)


class ModelCall(models.Model):
    """Written before anything is sent. `tokens` and `usd` are what counts against the search's caps right now:
    the ceiling while it is reserved or unknown, what was used once it is settled, nothing once it is released."""

    search = models.ForeignKey(Search, models.CASCADE, related_name="calls")
    step = models.ForeignKey(Step, models.CASCADE, related_name="calls")
    step_attempt = models.PositiveIntegerField()
    """`Step.attempt` of the agent process that made it."""
    endpoint = models.ForeignKey(ModelEndpoint, models.SET_NULL, null=True, related_name="calls")
    endpoint_name = models.CharField(max_length=80)
    host = models.CharField(max_length=300)
    model = models.CharField(max_length=200)
    """As asked for."""
    role = models.CharField(max_length=30)
    request_hash = models.CharField(max_length=64)
    number = models.PositiveIntegerField(default=1)
    """1.. among the tries of one question."""
    state = models.CharField(max_length=10, choices=choices(CallState), default=CallState.RESERVED.value)
    outcome = models.CharField(max_length=30, blank=True, default="")
    """`CallOutcome`, once known."""
    ceiling_tokens = models.PositiveBigIntegerField()
    ceiling_usd = models.FloatField(null=True)
    """None: the price was unknown."""
    tokens = models.PositiveBigIntegerField()
    usd = models.FloatField(default=0.0)
    prompt_tokens = models.PositiveBigIntegerField(default=0)
    cached_tokens = models.PositiveBigIntegerField(default=0)
    completion_tokens = models.PositiveBigIntegerField(default=0)
    is_estimated = models.BooleanField(default=False)
    """Counted by us, since the server told nothing usable."""
    model_returned = models.CharField(max_length=200, blank=True, default="")
    fingerprint = models.CharField(max_length=200, blank=True, default="")
    latency_s = models.FloatField(null=True)
    attempt = models.JSONField()
    """`search.agents.llm.outcomes.Attempt`: messages, schema, dropped parts."""
    reply = models.JSONField(null=True)
    """`search.agents.llm.outcomes.ModelReply`; hostile text."""
    reserved_at = models.DateTimeField(default=timezone.now)
    settled_at = models.DateTimeField(null=True)

    objects = CallQuerySet.as_manager()

    class Meta:
        ordering = ["search", "id"]
        constraints = [
            models.CheckConstraint(condition=Q(state__in=values(CallState)), name="call_state_known"),
            models.CheckConstraint(
                condition=~Q(state=CallState.RELEASED.value) | Q(tokens=0, usd=0),
                name="call_released_is_free",
            ),
        ]
        indexes = [
            models.Index(fields=["step", "request_hash"], name="call_of_step"),
            # Who waits for room at an endpoint counts its open and its latest calls.
            models.Index(fields=["endpoint", "reserved_at"], name="call_rate"),
            models.Index(fields=["endpoint"], name="call_open", condition=Q(state=CallState.RESERVED.value)),
        ]

    def __str__(self) -> str:
        return f"{self.role} of step {self.step_id}: {self.outcome or self.state}"

    @cached_property
    def record(self) -> CallRecord:
        """Attempt and reply; a call that nobody saw the end of has an empty reply.

        Read of one row at a time: it holds the whole prompt.
        """
        lost = ModelReply(
            outcome=CallOutcome.INCOMPLETE,
            detail="the answer was lost with the process",
            charge=Charge.CEILING,
        )
        return CallRecord(
            attempt=Attempt.load(self.attempt),
            reply=ModelReply.load(self.reply) if self.reply else lost,
            request_hash=self.request_hash,
            started_at=self.reserved_at.isoformat(),
        )
