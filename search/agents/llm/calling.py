"""Calls with a budget: chooses a model, waits its turn, reserves, sends, settles, and tries again where it helps.

Every attempt has its own reservation and its own record, because every attempt may be billed. What is tried again
and how often depends on the outcome; the pauses are drawn with full jitter (Brooker, "Exponential Backoff And
Jitter", 2015), or are the server's own wish up to two minutes.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from search.agents.llm.choice import Choice, Share
from search.agents.llm.ledger import added, charge_of
from search.agents.llm.limits import KeyLimits, NoTurn
from search.agents.llm.outcomes import (
    Attempt,
    BudgetRefused,
    CallOutcome,
    CallRecord,
    Charge,
    ModelReply,
)
from search.agents.llm.tokens import ceiling_tokens, estimate_messages
from search.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from search.agents.llm.endpoint import Endpoint
    from search.agents.llm.outcomes import Meter, ModelRequest, Transcript

SHORTEST_ANSWER = 256
"""Tokens that must be left in the context window for an answer; a prompt that leaves fewer is not sent."""
_ONCE = {CallOutcome.EMPTY, CallOutcome.INCOMPLETE, CallOutcome.BAD_GATEWAY_RESPONSE, CallOutcome.TRUNCATED}
"""Outcomes that were paid for and are tried again a single time."""


class Sender(Protocol):
    """What sends one attempt; `ModelClient` is the real one."""

    endpoint: Endpoint

    def send(self, request: ModelRequest, output_limit: int, deadline_s: float) -> ModelReply:
        """Ask once, see `ModelClient.send`."""
        ...


@dataclass(frozen=True)
class Patience:
    """How long and how often one call is tried."""

    attempts: int = 4
    total_s: float = 480.0
    """From the call to its answer, pauses included; below the time limit of the site's agent tasks."""
    longest_pause_s: float = 120.0
    """A server that asks for more gets its outcome reported instead."""
    first_pause_s: float = 1.0
    """Upper end of the first random pause; doubles each time."""


@dataclass
class BudgetedCaller:
    """The `Caller` over real endpoints. Safe to use from several threads if its meter and transcript are."""

    senders: Sequence[Sender]
    meter: Meter
    transcript: Transcript | None = None
    choice: Choice = field(default_factory=lambda: Share({}))
    limits: KeyLimits = field(default_factory=KeyLimits)
    """Give the same one to every caller of a process."""
    patience: Patience = Patience()
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    chance: random.Random = field(default_factory=random.Random)
    """Of pauses; no result depends on it."""

    @property
    def context_tokens(self) -> int:
        """Smallest context window among the models."""
        return min(sender.endpoint.context_tokens for sender in self.senders)

    @property
    def json_schema(self) -> bool:
        """Whether all of them obey schemas."""
        return all(sender.endpoint.json_schema for sender in self.senders)

    def call(self, request: ModelRequest) -> ModelReply:
        """Ask, and ask again where that may help. See `Caller`.

        Exceptions of the meter other than `BudgetRefused` pass through: they are its owner's.
        """
        by_name = {sender.endpoint.name: sender for sender in self.senders}
        sender = by_name[self.choice.pick(list(by_name), request)]
        return _Call(self, sender, request).run()


class _Call:
    """One call on its way through its attempts."""

    def __init__(self, caller: BudgetedCaller, sender: Sender, request: ModelRequest) -> None:
        self.caller = caller
        self.sender = sender
        self.endpoint = sender.endpoint
        self.request = request
        self.deadline = caller.clock() + caller.patience.total_s
        self.limit = min(request.max_output_tokens or self.largest_limit, self.largest_limit)
        self.spent = Usage()
        self.seen: set[CallOutcome] = set()

    @property
    def largest_limit(self) -> int:
        """Output tokens that endpoint and context window leave."""
        window = self.endpoint.context_tokens - estimate_messages(self.request.messages)
        return min(self.endpoint.max_output_tokens, window)

    @property
    def left_s(self) -> float:
        return self.deadline - self.caller.clock()

    def run(self) -> ModelReply:
        if self.largest_limit < min(SHORTEST_ANSWER, self.endpoint.max_output_tokens):
            return self._unsent(CallOutcome.CONTEXT_TOO_LONG, self._why_too_long())
        reply = self._attempt(1)
        for number in range(2, self.caller.patience.attempts + 1):
            pause = self._pause_before(number, reply)
            if pause is None or pause >= self.left_s:
                break
            self.caller.sleep(pause)
            reply = self._attempt(number)
        return reply.model_copy(update={"spent": self.spent, "attempts": self.spent.calls})

    def _attempt(self, number: int) -> ModelReply:
        longest = min(self.left_s, self.caller.patience.longest_pause_s)
        try:
            with self.caller.limits.turn(self.endpoint, longest):
                return self._send(self._planned(number))
        except NoTurn as busy:
            reply = self._unsent(CallOutcome.RATE_LIMITED, str(busy))
            return reply.model_copy(update={"retry_after_s": busy.retry_after_s})
        except BudgetRefused as refused:
            return self._unsent(CallOutcome.BUDGET, str(refused))

    def _planned(self, number: int) -> Attempt:
        prompt = ceiling_tokens(self.request.messages)
        prices = self.endpoint.prices
        return Attempt(
            request=self.request,
            endpoint=self.endpoint.name,
            host=self.endpoint.host,
            model=self.endpoint.model,
            number=number,
            output_limit=self.limit,
            ceiling_tokens=prompt + self.limit,
            ceiling_usd=None if prices is None else prices.ceiling_usd(prompt, self.limit),
        )

    def _send(self, attempt: Attempt) -> ModelReply:
        reservation = self.caller.meter.reserve(attempt)
        started_at = datetime.now(UTC).isoformat(timespec="seconds")
        # A crash from here on leaves the reservation open, and so charged.
        reply = self.sender.send(self.request, self.limit, self.left_s)
        charge = charge_of(attempt, reply)
        self.spent = added(self.spent, charge)
        reply = reply.model_copy(update={"attempts": attempt.number, "spent": charge})
        self._settle(reservation, reply)
        if self.caller.transcript is not None:
            record = CallRecord(
                attempt=attempt, reply=reply, request_hash=self.request.hash, started_at=started_at
            )
            self.caller.transcript.store(record)
        if reply.outcome is CallOutcome.RATE_LIMITED and reply.retry_after_s:
            self.caller.limits.block(self.endpoint, reply.retry_after_s)
        return reply

    def _settle(self, reservation: str, reply: ModelReply) -> None:
        meter = self.caller.meter
        match reply.charge:
            case Charge.USED:
                meter.settle(reservation, reply)
            case Charge.CEILING:
                meter.unknown(reservation, reply)
            case Charge.NOTHING:
                meter.release(reservation, reply)

    def _pause_before(self, number: int, reply: ModelReply) -> float | None:
        """Seconds to wait before another attempt; None: there is none."""
        outcome = reply.outcome
        if not self._may_repeat(outcome):
            return None
        self.seen.add(outcome)
        if outcome is CallOutcome.TRUNCATED:
            self.limit = min(2 * self.limit, self.largest_limit)
            return 0.0
        patience = self.caller.patience
        jitter = self.caller.chance.uniform(0, patience.first_pause_s * 2 ** (number - 2))
        if not reply.retry_after_s:
            return min(jitter, patience.longest_pause_s)
        if reply.retry_after_s > patience.longest_pause_s:
            return None
        return reply.retry_after_s + min(jitter, 1.0)

    def _may_repeat(self, outcome: CallOutcome) -> bool:
        if outcome in _ONCE and outcome in self.seen:
            return False
        if outcome is CallOutcome.TRUNCATED:
            return self.limit < self.largest_limit
        return outcome.may_pass

    def _unsent(self, outcome: CallOutcome, detail: str) -> ModelReply:
        return ModelReply(
            outcome=outcome, detail=detail, charge=Charge.NOTHING, endpoint=self.endpoint.name, attempts=0
        )

    def _why_too_long(self) -> str:
        prompt = estimate_messages(self.request.messages)
        return (
            f"the prompt has about {prompt} tokens and the context window {self.endpoint.context_tokens}: "
            f"fewer than {SHORTEST_ANSWER} are left for an answer"
        )
