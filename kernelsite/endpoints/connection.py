"""Test of a connection: one small question, and what its outcome means for the person who set the endpoint up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils import timezone

from kernelsite.endpoints import reach
from kernelsite.endpoints.models import ANSWERING
from kernelsite.endpoints.vault import SealedKeyError
from search.agents.llm.client import ModelClient
from search.agents.llm.outcomes import CallOutcome, Message, ModelRequest

if TYPE_CHECKING:
    from kernelsite.endpoints.models import ModelEndpoint
    from search.agents.llm.endpoint import Endpoint
    from search.agents.llm.outcomes import ModelReply

DEADLINE_S = 20.0
OUTPUT_LIMIT = 32
LISTED = 8
"""Names of models that a result shows."""

ADVICE = {
    CallOutcome.OK: "A small question was answered.",
    CallOutcome.TRUNCATED: "A small question was answered; the answer was cut at the test's limit.",
    CallOutcome.REFUSED: "A small question was answered with a refusal.",
    CallOutcome.EMPTY: "A small question was answered without text; reasoning models need longer answers.",
    CallOutcome.UNAUTHORIZED: "The key is wrong, revoked, or not for this model.",
    CallOutcome.NOT_FOUND: "The server knows neither this model nor this address. Does it end in /v1?",
    CallOutcome.QUOTA: "The account has no money left; look at the provider's billing page.",
    CallOutcome.RATE_LIMITED: "The key works, and is over its rate limit right now.",
    CallOutcome.TIMEOUT: f"No complete answer within {DEADLINE_S:g} s. A local server may still be loading its model.",
    CallOutcome.UNAVAILABLE: "The server cannot be reached or reports an error of its own.",
    CallOutcome.BAD_REQUEST: "The server does not accept the request; some models take no temperature or schema.",
    CallOutcome.CONTEXT_TOO_LONG: "The server says that a few words do not fit its context window.",
    CallOutcome.BAD_GATEWAY_RESPONSE: "Something answers there, but it does not speak the chat-completions protocol.",
    CallOutcome.INCOMPLETE: "The answer broke off.",
    CallOutcome.BLOCKED_ADDRESS: "This installation does not call that address.",
}


def probe(row: ModelEndpoint) -> CallOutcome:
    """Ask the endpoint one small question and keep the result on its row. Costs a few tokens."""
    try:
        record = row.open_record()
    except SealedKeyError as error:
        outcome, note = CallOutcome.UNAUTHORIZED, f"{error}."
    else:
        reply = _ask(record)
        outcome, note = reply.outcome, _note(record, reply)
    row.tested_at, row.test_outcome, row.test_note = timezone.now(), outcome, note[:500]
    row.save(update_fields=["tested_at", "test_outcome", "test_note"])
    return outcome


def _ask(record: Endpoint) -> ModelReply:
    question = Message(role="user", content="Answer with the one word: ready")
    request = ModelRequest(role="test", messages=(question,))
    return ModelClient(record, reach.policy()).send(request, OUTPUT_LIMIT, DEADLINE_S)


def _note(record: Endpoint, reply: ModelReply) -> str:
    advice = ADVICE.get(reply.outcome, "")
    if reply.outcome in ANSWERING:
        other = f" It calls itself {reply.model}." if reply.model and reply.model != record.model else ""
        return f"{advice} It took {reply.latency_s:.1f} s.{other}"
    listed = _listed(record) if reply.outcome is CallOutcome.NOT_FOUND else ""
    return " ".join(word for word in (advice, listed, reply.detail) if word)


def _listed(record: Endpoint) -> str:
    names = ModelClient(record, reach.policy()).models(DEADLINE_S).models
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return f"It lists {', '.join(names[:LISTED])}{more}." if names else ""
