"""What is asked of a model, what came back, and the seams where ledgers, transcripts and callers plug in.

Every way a call can end is a value of `CallOutcome`; no fault of a server is an exception.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal, Protocol

from pydantic import Field, JsonValue

from search.records import Record, Sha256, content_hash
from search.usage import Usage

Count = Annotated[int, Field(ge=0)]


class CallOutcome(StrEnum):
    """How one call ended."""

    OK = "ok"
    """A complete answer with text."""
    TRUNCATED = "truncated"
    """The output limit was reached; the text is never compiled as it is."""
    REFUSED = "refused"
    """The model or a filter of the provider declined."""
    EMPTY = "empty"
    """No choices, no content, a tool call, or reasoning alone."""
    INCOMPLETE = "incomplete"
    """A stream or body that broke off."""
    BAD_GATEWAY_RESPONSE = "bad_gateway_response"
    """Status 200, but no chat completion: an HTML page, broken gzip, a body over the limit."""
    MALFORMED = "malformed"
    """A role could not read the text, after its repair; set by roles, not by the client."""
    RATE_LIMITED = "rate_limited"
    """429; `retry_after_s` says for how long, when the server said."""
    QUOTA = "quota"
    """The account has no money left."""
    UNAUTHORIZED = "unauthorized"
    """401 or 403: the key is wrong or was revoked."""
    NOT_FOUND = "not_found"
    """404: no such model or address."""
    CONTEXT_TOO_LONG = "context_too_long"
    BAD_REQUEST = "bad_request"
    """The server does not accept the request for another reason; repeating it cannot help."""
    TIMEOUT = "timeout"
    """The deadline passed, whether the server was silent or too slow."""
    UNAVAILABLE = "unavailable"
    """5xx, refused or reset connection, failed name look-up, failed TLS."""
    BLOCKED_ADDRESS = "blocked_address"
    """The endpoint resolves to an address that this installation may not call."""
    BUDGET = "budget"
    """Not sent: its ceiling does not fit into what is left."""
    NOT_RECORDED = "not_recorded"
    """Only of `replay`: the transcript does not hold this request."""

    @property
    def may_pass(self) -> bool:
        """Whether the same request may succeed a little later."""
        return self in _PASSING

    @property
    def stops_search(self) -> bool:
        """Whether a person must act first: nothing is retried and the search pauses with the reason."""
        return self in _STOPPING


_PASSING = {
    CallOutcome.TIMEOUT,
    CallOutcome.UNAVAILABLE,
    CallOutcome.RATE_LIMITED,
    CallOutcome.EMPTY,
    CallOutcome.INCOMPLETE,
    CallOutcome.BAD_GATEWAY_RESPONSE,
}
_STOPPING = {
    CallOutcome.QUOTA,
    CallOutcome.UNAUTHORIZED,
    CallOutcome.NOT_FOUND,
    CallOutcome.CONTEXT_TOO_LONG,
    CallOutcome.BAD_REQUEST,
    CallOutcome.BLOCKED_ADDRESS,
}


class Charge(StrEnum):
    """What an attempt costs its ledger."""

    USED = "used"
    """What `usage` says, told by the server or counted by us."""
    CEILING = "ceiling"
    """Nobody can tell what the provider will bill, so all that was reserved."""
    NOTHING = "nothing"
    """Nothing was sent, or the server answered with an error, which no provider bills."""


class Message(Record):
    """One turn of a chat."""

    role: Literal["system", "user", "assistant"]
    content: str


class ModelRequest(Record):
    """One question to a model, independent of the endpoint that will answer it."""

    role: str
    """Who asks: planner, coder, repairer, tuner, analyst."""
    messages: Annotated[tuple[Message, ...], Field(min_length=1)]
    answer_schema: dict[str, JsonValue] | None = None
    """JSON schema of the answer; sent where the endpoint supports it. None: free text."""
    max_output_tokens: Annotated[int, Field(ge=1)] | None = None
    """None: the endpoint's limit; never above it."""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    """None: the endpoint's."""
    turn: str = ""
    """What tells equal prompts apart, e.g. `12/repair-1`: step and turn. Part of the hash, never sent."""
    draft: int | None = None
    """Step that asks; for the call record, not part of the hash."""
    dropped: tuple[str, ...] = ()
    """Parts of the prompt that did not fit its budget; for the call record, not part of the hash."""

    @property
    def hash(self) -> str:
        """Identity of the question over processes and machines; transcripts are searched by it."""
        return content_hash(self.model_dump(mode="json", exclude={"draft", "dropped"}))


class TokenUsage(Record):
    """Tokens of one call."""

    prompt_tokens: Count = 0
    """With the cached ones."""
    cached_tokens: Count = 0
    completion_tokens: Count = 0
    """With the reasoning ones."""
    reasoning_tokens: Count = 0
    estimated: bool = False
    """Counted by us, because the server told none or nonsense."""

    @property
    def tokens(self) -> int:
        """All that count towards a cap."""
        return self.prompt_tokens + self.completion_tokens


class ModelReply(Record):
    """What became of one request. `text` is hostile: it was never checked by anyone."""

    outcome: CallOutcome
    text: str = ""
    """Control characters but tab and newline removed; may be there for outcomes other than `ok`."""
    detail: str = ""
    """Why it is not `ok`, for people: keys masked, capped."""
    usage: TokenUsage = TokenUsage()
    charge: Charge = Charge.USED
    cost_usd: Annotated[float, Field(ge=0)] | None = None
    """Of `usage`; None: the endpoint's prices are unknown."""
    endpoint: str = ""
    model: str = ""
    """As the server named it, which may differ from what was asked for."""
    fingerprint: str = ""
    """The server's `system_fingerprint`, where it sends one."""
    request_id: str = ""
    """The provider's, for their support."""
    latency_s: Annotated[float, Field(ge=0)] = 0.0
    attempts: Count = 1
    """Times the request was sent for this reply, itself included; 0: never sent."""
    retry_after_s: Annotated[float, Field(ge=0)] | None = None
    """The server's wish, where it told one, even when it is longer than we are ready to wait."""
    spent: Usage = Usage()
    """Over all attempts, failed ones included; what a `Proposal` adds up."""

    @property
    def is_ok(self) -> bool:
        """There is a complete answer."""
        return self.outcome is CallOutcome.OK


class Attempt(Record):
    """One sending of a request, as it is reserved in a ledger before anything leaves the machine."""

    request: ModelRequest
    endpoint: str
    """Name of the endpoint."""
    host: str
    model: str
    """As asked for."""
    number: Annotated[int, Field(ge=1)] = 1
    """1.. within one `Caller.call`."""
    output_limit: Annotated[int, Field(ge=1)]
    """Sent as the output limit; grows when an answer was truncated."""
    ceiling_tokens: Count
    """Estimated prompt, at the estimate's worst error, plus the output limit."""
    ceiling_usd: Annotated[float, Field(ge=0)] | None
    """None: prices unknown; a ledger with a cap on money refuses it."""


class CallRecord(Record):
    """One attempt and its reply, as a transcript keeps it. Holds no key."""

    attempt: Attempt
    reply: ModelReply
    request_hash: Sha256
    """Of the request as it was sent; texts that are kept are masked, so theirs may differ."""
    started_at: str
    """UTC, ISO 8601."""


class BudgetRefused(Exception):
    """A reservation does not fit; nothing was sent.

    Attributes:
        axis: `tokens` or `cost`.
    """

    def __init__(self, axis: Literal["tokens", "cost"], message: str) -> None:
        super().__init__(message)
        self.axis = axis


class Meter(Protocol):
    """Ledger of one search. Reserved + settled + unknown never pass a cap, under any concurrency."""

    def reserve(self, attempt: Attempt) -> str:
        """Hold the attempt's ceiling before it is sent.

        Returns:
            Identity of the reservation, for exactly one of the calls below.

        Raises:
            BudgetRefused: it does not fit, or its price is unknown and money is capped.
        """
        ...

    def settle(self, reservation: str, reply: ModelReply) -> None:
        """Replace the ceiling by what the reply used, at most the ceiling: `Charge.USED`."""
        ...

    def unknown(self, reservation: str, reply: ModelReply) -> None:
        """The call may have been paid and nobody can tell: its ceiling stays charged. `Charge.CEILING`."""
        ...

    def release(self, reservation: str, reply: ModelReply) -> None:
        """The server did no work (refused connection, 401, 429 …): nothing is charged. `Charge.NOTHING`."""
        ...


class Transcript(Protocol):
    """Keeps every attempt."""

    def store(self, record: CallRecord) -> None:
        """Called once per attempt, after its reservation was settled."""
        ...


class Caller(Protocol):
    """What roles are given: a model, however it is reached."""

    @property
    def context_tokens(self) -> int:
        """Smallest context window among the models that may answer."""
        ...

    @property
    def json_schema(self) -> bool:
        """Whether every one of them obeys `answer_schema`."""
        ...

    def call(self, request: ModelRequest) -> ModelReply:
        """Ask once; retries happen inside. Never raises for what a server or a budget does."""
        ...
