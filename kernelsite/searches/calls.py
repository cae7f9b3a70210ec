"""Models as a step reaches them: what was answered before is not asked again, and what stops a search is raised."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.utils import timezone

from kernelsite.endpoints import reach
from kernelsite.endpoints.models import ModelEndpoint
from kernelsite.endpoints.vault import SealedKeyError
from kernelsite.searches.ledger import CallStop, StepMeter
from kernelsite.searches.limits import limits
from kernelsite.searches.models import CallState, Choice, ModelCall, Search, Step, StepState
from kernelsite.searches.replays import replay_of
from search.agents.llm import choice as models
from search.agents.llm.agent import LlmAgent
from search.agents.llm.calling import BudgetedCaller
from search.agents.llm.client import ModelClient
from search.agents.llm.outcomes import CallOutcome, ModelReply
from search.records import DraftKind, WaitReason

if TYPE_CHECKING:
    from search.agents.agent import Agent
    from search.agents.llm.endpoint import Endpoint
    from search.agents.llm.outcomes import Caller, ModelRequest

ADVICE = {
    CallOutcome.QUOTA: "Its account has no money left: pay the provider, then resume.",
    CallOutcome.UNAUTHORIZED: "Type a valid key on the model's page, then resume.",
    CallOutcome.NOT_FOUND: "The server does not know the model any more: launch with another one.",
    CallOutcome.CONTEXT_TOO_LONG: "Its page says more context than it has: lower it there, then resume.",
    CallOutcome.BLOCKED_ADDRESS: "The operator of this site does not allow its address.",
}
"""What a person can do about an outcome that pauses a search."""
SILENCE_S = 60.0
"""A provider that does not answer is tried again after this; twice that the next time, and so on."""


@dataclass
class StepCaller:
    """`search.agents.llm.outcomes.Caller` of one attempt at one step."""

    inner: Caller
    meter: StepMeter
    step: Step

    @property
    def context_tokens(self) -> int:
        """See `Caller`."""
        return self.inner.context_tokens

    @property
    def json_schema(self) -> bool:
        """See `Caller`."""
        return self.inner.json_schema

    def call(self, request: ModelRequest) -> ModelReply:
        """Ask once, unless an earlier attempt at the step was answered.

        Raises:
            CallStop: a person must act, the provider asks for a pause, or the call does not fit into the caps.
            StepLostError: the step is somebody else's.
        """
        reply = self._answered(request) or self.inner.call(request)
        if reply.outcome is CallOutcome.BUDGET:
            raise CallStop(reply.detail, WaitReason.BUDGET, axis=self.meter.refused or "tokens")
        if reply.outcome.stops_search:
            advice = ADVICE.get(reply.outcome, "Mend it, then resume.")
            raise CallStop(f"{reply.endpoint}: {reply.outcome}. {advice} {reply.detail}")
        if reply.outcome in (CallOutcome.RATE_LIMITED, CallOutcome.UNAVAILABLE, CallOutcome.TIMEOUT):
            raise self._later(reply)
        return reply

    def _answered(self, request: ModelRequest) -> ModelReply | None:
        rows = ModelCall.objects.filter(
            step=self.step, request_hash=request.hash, outcome=CallOutcome.OK, state=CallState.SETTLED
        )
        row = rows.order_by("-id").first()
        return ModelReply.load(row.reply) if row else None

    def _later(self, reply: ModelReply) -> CallStop:
        wait_s = SILENCE_S * 2 ** (self.step.attempt - 1)
        if reply.outcome is CallOutcome.RATE_LIMITED:
            wait_s = max(reply.retry_after_s or SILENCE_S, 1.0)
        elif self.step.attempt >= limits().attempts:
            tries = f"after {self.step.attempt} tries of the step"
            return CallStop(f"{reply.endpoint}: {reply.outcome} {tries}. {reply.detail}")
        until = timezone.now() + timedelta(seconds=min(wait_s, 86_400.0))
        reason = f"{reply.endpoint}: {reply.outcome} until {until:%H:%M:%S} UTC. {reply.detail}"
        return CallStop(reason, WaitReason.RATE_LIMIT, until)


def model_agent(search: Search, step: Step) -> Agent:
    """The agent of a search with a model, for one attempt at a step.

    Raises:
        CallStop: an endpoint or transcript is gone, or a key does not open.
    """
    return LlmAgent(replay_of(search, step) if search.transcript else _metered(search, step))


def _metered(search: Search, step: Step) -> StepCaller:
    """The models of a search, through its ledger."""
    clients, ids = [], {}
    for chosen in search.endpoints:
        row = ModelEndpoint.objects.usable().filter(pk=chosen["id"], team=search.team_id).first()
        if row is None:
            raise CallStop(f"model {chosen['name']} was disabled or deleted")
        clients.append(ModelClient(_opened(row, chosen), reach.policy()))
        ids[row.name] = row.pk
    meter = StepMeter(search.pk, step.pk, step.attempt, ids)
    # The meter keeps the limits of keys, over all processes; the caller's own would know of this one only.
    inner = BudgetedCaller(clients, meter, choice=_choice(search))
    return StepCaller(inner, meter, step)


def _opened(row: ModelEndpoint, chosen: dict[str, Any]) -> Endpoint:
    """The endpoint as it is now; what was frozen at launch must still hold of it."""
    try:
        record = row.open_record()
    except SealedKeyError as error:
        raise CallStop(f"model {row.name}: {error}") from error
    for field in ("name", "base_url", "model"):
        if getattr(record, field) != chosen[field]:
            word = {"base_url": "address"}.get(field, field)
            raise CallStop(f"model {chosen['name']} has another {word} than at launch: change it back")
    return record


def _choice(search: Search) -> models.Choice:
    if search.model_choice == Choice.SHARE or len(search.endpoints) < 2:
        return models.Share({})
    return models.Bandit(track_records(search))


def track_records(search: Search) -> dict[str, models.TrackRecord]:
    """How often each model wrote a program that beat everything its draft's structure had before."""
    answered = search.calls.filter(outcome=CallOutcome.OK).order_by("id")
    writer = dict(answered.values_list("step__number", "endpoint_name"))
    drafts, gains = Counter[str](), Counter[str]()
    best: dict[str, float] = {}
    for step in search.steps.filter(state=StepState.DONE).exclude(kind=DraftKind.JUDGE).order_by("number"):
        outcome = step.outcome or {}
        speed = (outcome.get("speedup") or {}).get("value", 0.0)
        if name := writer.get(step.number):
            drafts[name] += 1
            gains[name] += speed > best.get(step.item.get("structure", ""), 0.0)
        structure = outcome.get("structure", "")
        best[structure] = max(speed, best.get(structure, 0.0))
    return {name: models.TrackRecord(drafts[name], gains[name]) for name in drafts}
