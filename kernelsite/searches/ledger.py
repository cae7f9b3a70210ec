"""The ledger of a search's calls to models, over rows: a call is reserved under the search's lock before it is
sent, and settled when its answer is there.

Reserved, settled and unknown calls together never pass a cap. A call whose process died between the answer and
its row is `unknown`: it stays charged at its ceiling and is made once more.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from django.db.models import Sum
from django.utils import timezone

from kernelsite.endpoints.models import ModelEndpoint
from kernelsite.searches import events, tidings
from kernelsite.searches.limits import limits, seconds
from kernelsite.searches.models import CallState, ModelCall, Search, Step, StepState
from search.agents.llm.ledger import charge_of, refusal
from search.agents.llm.outcomes import Attempt, BudgetRefused
from search.records import EventKind, WaitReason
from search.usage import Usage

if TYPE_CHECKING:
    from datetime import datetime

    from search.agents.llm.outcomes import ModelReply

log = logging.getLogger(__name__)

WARNINGS = (0.5, 0.8)
"""Shares of a cap that are told when they are passed."""
WINDOW_S = 60.0
"""Requests per minute are counted over this."""
GRACE_S = 60.0
"""A reserved call this much older than its deadline no longer takes up room at its endpoint."""
NO_DIFFERENCE_USD = 1e-9


class StepLostError(Exception):
    """The step belongs to another agent now, or the search is over; whatever is still to be said is dropped."""


class CallStop(Exception):
    """The step cannot go on now.

    Attributes:
        reason: for people.
        wait: what to wait for; None: a person must act, and the search pauses.
        until: no call before this moment.
        axis: `tokens` or `cost`, when a cap allows no further call.
    """

    def __init__(
        self, reason: str, wait: WaitReason | None = None, until: datetime | None = None, axis: str = ""
    ) -> None:
        super().__init__(reason)
        self.reason, self.wait, self.until, self.axis = reason, wait, until, axis


@dataclass
class StepMeter:
    """`search.agents.llm.outcomes.Meter` of one attempt at one step."""

    search_id: int
    step_id: int
    step_attempt: int
    endpoints: dict[str, int]
    """Ids by name."""
    refused: str = ""
    """Axis of the last refusal: `tokens` or `cost`."""

    def reserve(self, attempt: Attempt) -> str:
        """Write the call's row, once its endpoint has room; see `Meter.reserve`.

        Raises:
            BudgetRefused: its ceiling does not fit, or money is capped and its price unknown.
            CallStop: the endpoint is gone, or asked not to be called for longer than a call waits.
            StepLostError: the step is somebody else's.
        """
        patience = time.monotonic() + limits().room_s
        while True:
            try:
                row = self._written(attempt)
            except BudgetRefused as refusal:
                self.refused = refusal.axis
                raise
            if row is not None:
                return str(row.pk)
            if time.monotonic() > patience:
                reason = f"{attempt.endpoint} had no room for another call"
                raise CallStop(reason, WaitReason.RATE_LIMIT, timezone.now() + seconds(WINDOW_S))
            time.sleep(limits().room_poll_s)

    def _written(self, attempt: Attempt) -> ModelCall | None:
        """The reserved row; None when the endpoint has no room right now."""
        with events.locked(self.search_id) as search:
            step = self._own_step(search)
            endpoint = self._endpoint(attempt)
            if not has_room(endpoint):
                return None
            refuse_beyond_caps(search, attempt)
            step.lease_until = timezone.now() + seconds(limits().agent_lease_s)
            step.save(update_fields=["lease_until"])
            return ModelCall.objects.create(
                search=search,
                step=step,
                step_attempt=self.step_attempt,
                endpoint=endpoint,
                endpoint_name=attempt.endpoint,
                host=attempt.host,
                model=attempt.model,
                role=attempt.request.role[:30],
                request_hash=attempt.request.hash,
                number=attempt.number,
                ceiling_tokens=attempt.ceiling_tokens,
                ceiling_usd=attempt.ceiling_usd,
                tokens=attempt.ceiling_tokens,
                usd=attempt.ceiling_usd or 0.0,
                attempt=attempt.dump(),
            )

    def _own_step(self, search: Search) -> Step:
        step = Step.objects.get(pk=self.step_id)
        mine = step.state == StepState.PROPOSING and step.attempt == self.step_attempt
        if not mine or search.is_final:
            raise StepLostError(str(step))
        return step

    def _endpoint(self, attempt: Attempt) -> ModelEndpoint:
        pk = self.endpoints[attempt.endpoint]
        row = ModelEndpoint.objects.select_for_update().usable().filter(pk=pk).first()
        if row is None:
            raise CallStop(f"model {attempt.endpoint} was disabled or deleted")
        return row

    def settle(self, reservation: str, reply: ModelReply) -> None:
        """Charge what was used, the ceiling at most."""
        self._close(int(reservation), reply, CallState.SETTLED)

    def unknown(self, reservation: str, reply: ModelReply) -> None:
        """Leave the ceiling charged."""
        self._close(int(reservation), reply, CallState.UNKNOWN)

    def release(self, reservation: str, reply: ModelReply) -> None:
        """Charge nothing."""
        self._close(int(reservation), reply, CallState.RELEASED)

    def _close(self, pk: int, reply: ModelReply, state: CallState) -> None:
        with events.locked(self.search_id) as search:
            call = ModelCall.objects.get(pk=pk)
            if call.state not in (CallState.RESERVED, CallState.UNKNOWN):
                log.warning("call %s: a second end (%s) is dropped", pk, reply.outcome)
                return
            before = search.calls.spent()
            _fill(call, reply, state)
            search.tokens_spent, search.cost_usd_spent = search.calls.spent()
            if reply.retry_after_s and call.endpoint_id:
                until = timezone.now() + timedelta(seconds=min(reply.retry_after_s, 86_400.0))
                ModelEndpoint.objects.filter(pk=call.endpoint_id).update(limited_until=until)
            if not search.is_final:
                _tell(search, call, before)


def _fill(call: ModelCall, reply: ModelReply, state: CallState) -> None:
    charge = charge_of(Attempt.load(call.attempt), reply)
    call.state, call.outcome = state, reply.outcome
    call.tokens, call.usd = charge.prompt_tokens + charge.completion_tokens, charge.cost_usd
    call.prompt_tokens, call.cached_tokens = reply.usage.prompt_tokens, reply.usage.cached_tokens
    call.completion_tokens, call.is_estimated = reply.usage.completion_tokens, reply.usage.estimated
    call.model_returned, call.fingerprint = reply.model[:200], reply.fingerprint[:200]
    call.latency_s, call.reply, call.settled_at = reply.latency_s, reply.dump(), timezone.now()
    call.save()


def _tell(search: Search, call: ModelCall, before: tuple[int, float]) -> None:
    number = Step.objects.values_list("number", flat=True).get(pk=call.step_id)
    charged = f", charged at its ceiling of {call.tokens:,} tokens" if call.state == CallState.UNKNOWN else ""
    spent = charged or f", {call.tokens:,} tokens"
    retry = f", try {call.number}" if call.number > 1 else ""
    text = f"step {number}: {call.role} asked {call.endpoint_name}{retry}: {call.outcome}{spent}"
    events.append(search, EventKind.CALLED, text)
    _tell_model(search, call)
    for name, cap, was, now in (
        ("tokens", search.tokens_cap, before[0], search.tokens_spent),
        ("money", search.cost_usd_cap, before[1], search.cost_usd_spent),
    ):
        for share in WARNINGS:
            if cap and was < share * cap <= now:
                spent = f"{now:,} of {cap:,} tokens" if name == "tokens" else f"{now:.4f} of {cap:.4f} USD"
                told = f"{share:.0%} of the cap on {name} is spent: {spent}"
                events.append(search, EventKind.BUDGET, told)
                if share == WARNINGS[-1]:
                    tidings.cap_is_near(search, name, told)


def _tell_model(search: Search, call: ModelCall) -> None:
    """Say when an endpoint starts to answer as another model or another build of it."""
    if not call.model_returned:
        return
    known = (
        search.calls.filter(endpoint_name=call.endpoint_name).exclude(model_returned="").exclude(pk=call.pk)
    )
    same = known.filter(model_returned=call.model_returned, fingerprint=call.fingerprint)
    if known.exists() and not same.exists():
        name = " ".join(word for word in (call.model_returned, call.fingerprint) if word)
        events.append(search, EventKind.MODEL, f"{call.endpoint_name} now answers as {name}")


def has_room(endpoint: ModelEndpoint) -> bool:
    """Whether its provider may be called now; every process of the site counts. The caller holds its row.

    Raises:
        CallStop: the provider asked not to be called for longer than a call waits.
    """
    now, calls = timezone.now(), ModelCall.objects.filter(endpoint=endpoint)
    if endpoint.limited_until and endpoint.limited_until > now:
        if endpoint.limited_until > now + seconds(limits().room_s):
            until = endpoint.limited_until
            reason = f"{endpoint.name} is rate limited until {until:%H:%M:%S} UTC"
            raise CallStop(reason, WaitReason.RATE_LIMIT, until)
        return False
    young = now - seconds(endpoint.deadline_s + GRACE_S)
    if calls.filter(state=CallState.RESERVED, reserved_at__gt=young).count() >= endpoint.concurrency:
        return False
    most = endpoint.requests_per_minute
    return most is None or calls.filter(reserved_at__gt=now - seconds(WINDOW_S)).count() < most


def refuse_beyond_caps(search: Search, attempt: Attempt) -> None:
    """The caller holds the search locked.

    Raises:
        BudgetRefused: the attempt's ceiling does not fit into what the caps leave.
    """
    tokens, usd = search.calls.committed()
    tokens_left = None if search.tokens_cap is None else search.tokens_cap - tokens
    # Sums of money are floats: what differs by less than this does not differ.
    usd_left = None if search.cost_usd_cap is None else search.cost_usd_cap - usd + NO_DIFFERENCE_USD
    if (refused := refusal(attempt, tokens_left, usd_left)) is not None:
        raise refused


def abandon(search: Search, step: Step, attempt: int) -> None:
    """Calls up to an attempt at a step, which nobody will settle, stay charged at their ceiling.

    The caller holds the search locked.
    """
    lost = search.calls.filter(step=step, step_attempt__lte=attempt, state=CallState.RESERVED)
    for call in lost.without_texts():
        call.state, call.settled_at = CallState.UNKNOWN, timezone.now()
        call.save(update_fields=["state", "settled_at"])
        search.tokens_spent, search.cost_usd_spent = search.calls.spent()
        text = f"step {step.number}: an answer of {call.endpoint_name} was lost with its process"
        events.append(search, EventKind.CALLED, f"{text}, charged at its ceiling of {call.tokens:,} tokens")


def expire(search_id: int) -> int:
    """Charge the open calls of a search that is over at their ceiling; how many there were."""
    with events.locked(search_id) as search:
        open_calls = search.calls.filter(state=CallState.RESERVED)
        count = open_calls.update(state=CallState.UNKNOWN, settled_at=timezone.now())
        search.tokens_spent, search.cost_usd_spent = search.calls.spent()
    return count


def usage_of(step: Step) -> Usage:
    """What the ledger says a step has cost, whoever answered it."""
    rows = step.calls.exclude(state=CallState.RELEASED)
    sums = rows.aggregate(completion=Sum("completion_tokens"), tokens=Sum("tokens"), usd=Sum("usd"))
    tokens, completion = sums["tokens"] or 0, sums["completion"] or 0
    return Usage(
        calls=rows.count(),
        prompt_tokens=max(0, tokens - completion),
        completion_tokens=min(completion, tokens),
        cost_usd=sums["usd"] or 0.0,
    )
