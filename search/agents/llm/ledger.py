"""What calls cost, and a ledger in memory that never lets them pass a cap.

Reserved, settled and unknown amounts are one sum: a reservation is made only if its ceiling still fits, and what
replaces it is never above that ceiling. So the sum stays below the cap whatever happens at the same moment. The
site keeps the same rule in its database.
"""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from search.agents.llm.outcomes import BudgetRefused, Charge
from search.usage import Usage

if TYPE_CHECKING:
    from search.agents.llm.outcomes import Attempt, ModelReply


def charge_of(attempt: Attempt, reply: ModelReply) -> Usage:
    """What a ledger charges for an attempt, at most its ceiling."""
    prompt_ceiling = max(0, attempt.ceiling_tokens - attempt.output_limit)
    ceiling_usd = attempt.ceiling_usd or 0.0
    if reply.charge is Charge.NOTHING:
        return Usage(calls=1)
    if reply.charge is Charge.CEILING:
        return Usage(
            calls=1,
            prompt_tokens=prompt_ceiling,
            completion_tokens=attempt.ceiling_tokens - prompt_ceiling,
            cost_usd=ceiling_usd,
        )
    prompt = min(reply.usage.prompt_tokens, attempt.ceiling_tokens)
    return Usage(
        calls=1,
        prompt_tokens=prompt,
        completion_tokens=min(reply.usage.completion_tokens, attempt.ceiling_tokens - prompt),
        cost_usd=min(reply.cost_usd or 0.0, ceiling_usd),
    )


def added(left: Usage, right: Usage) -> Usage:
    """Sum of two usages."""
    return Usage(
        calls=left.calls + right.calls,
        prompt_tokens=left.prompt_tokens + right.prompt_tokens,
        completion_tokens=left.completion_tokens + right.completion_tokens,
        cost_usd=left.cost_usd + right.cost_usd,
    )


def refusal(attempt: Attempt, tokens_left: int | None, usd_left: float | None) -> BudgetRefused | None:
    """Why an attempt does not fit into what is left of the caps; None: it fits, or there is no cap."""
    if tokens_left is not None and attempt.ceiling_tokens > tokens_left:
        return BudgetRefused(
            "tokens", f"a call may need {attempt.ceiling_tokens} tokens and {max(0, tokens_left)} are left"
        )
    if usd_left is None:
        return None
    if attempt.ceiling_usd is None:
        return BudgetRefused(
            "cost",
            f"money is capped, but the prices of {attempt.endpoint} are unknown: set them, or cap tokens",
        )
    if attempt.ceiling_usd > usd_left:
        return BudgetRefused(
            "cost", f"a call may cost {attempt.ceiling_usd:.4f} USD and {max(0.0, usd_left):.4f} are left"
        )
    return None


@dataclass(frozen=True)
class Account:
    """One moment of a ledger."""

    settled: Usage
    unknown: Usage
    """Charged at their ceilings, because nobody knows."""
    reserved_tokens: int
    reserved_usd: float

    @property
    def tokens(self) -> int:
        """All that counts against the cap."""
        charged = added(self.settled, self.unknown)
        return charged.prompt_tokens + charged.completion_tokens + self.reserved_tokens

    @property
    def usd(self) -> float:
        """All that counts against the cap."""
        return self.settled.cost_usd + self.unknown.cost_usd + self.reserved_usd


class MemoryMeter:
    """A `Meter` for the command line and tests. What is never settled stays reserved."""

    def __init__(self, tokens_cap: int | None = None, usd_cap: float | None = None) -> None:
        self._lock = threading.Lock()
        self._caps = (tokens_cap, usd_cap)
        self._numbers = itertools.count(1)
        self._open: dict[str, Attempt] = {}
        self._settled = Usage()
        self._unknown = Usage()

    @property
    def account(self) -> Account:
        """What is spent and held now."""
        with self._lock:
            return self._account()

    def set_caps(self, tokens_cap: int | None, usd_cap: float | None) -> None:
        """From the next reservation on; a cap below what is spent already refuses every call."""
        with self._lock:
            self._caps = (tokens_cap, usd_cap)

    def reserve(self, attempt: Attempt) -> str:
        """Hold a ceiling, see `Meter`."""
        with self._lock:
            account = self._account()
            tokens_cap, usd_cap = self._caps
            refused = refusal(
                attempt,
                None if tokens_cap is None else tokens_cap - account.tokens,
                None if usd_cap is None else usd_cap - account.usd,
            )
            if refused is not None:
                raise refused
            reservation = str(next(self._numbers))
            self._open[reservation] = attempt
        return reservation

    def settle(self, reservation: str, reply: ModelReply) -> None:
        """Charge what was used."""
        with self._lock:
            self._settled = added(self._settled, charge_of(self._open.pop(reservation), reply))

    def unknown(self, reservation: str, reply: ModelReply) -> None:
        """Charge the ceiling."""
        with self._lock:
            self._unknown = added(self._unknown, charge_of(self._open.pop(reservation), reply))

    def release(self, reservation: str, reply: ModelReply) -> None:
        """Charge nothing."""
        with self._lock:
            del self._open[reservation]

    def _account(self) -> Account:
        return Account(
            settled=self._settled,
            unknown=self._unknown,
            reserved_tokens=sum(attempt.ceiling_tokens for attempt in self._open.values()),
            reserved_usd=sum(attempt.ceiling_usd or 0.0 for attempt in self._open.values()),
        )
