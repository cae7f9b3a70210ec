"""One attempt at one endpoint, through the OpenAI SDK. The only file that imports it.

The SDK builds requests and reads streams; its retries, proxies, redirects and timeouts are off or replaced
(`transport.py`), because its own deadline holds for each read and each retry by itself (openai-python #3828).
Whatever the server does becomes a `ModelReply`.
"""

from __future__ import annotations

import json
import time
from functools import cache
from typing import TYPE_CHECKING, Any

import httpx2
import openai

from search.agents.llm import texts
from search.agents.llm.addresses import ANYWHERE, AddressPolicy, AddressRefused
from search.agents.llm.faults import charge_of_status, outcome_of_status, retry_after_s
from search.agents.llm.outcomes import CallOutcome, Charge, ModelReply, TokenUsage
from search.agents.llm.tokens import ceiling_tokens, estimate_messages, estimate_tokens
from search.agents.llm.transport import BadBody, Exchange, Transport
from search.agents.llm.wire import join_chunks, model_names, read_completion, read_error
from search.records import Record

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator, Mapping

    from search.agents.llm.endpoint import Endpoint
    from search.agents.llm.outcomes import ModelRequest
    from search.agents.llm.wire import Completion

SCHEMA_NAME = "answer"
_FAULTS = (openai.OpenAIError, httpx2.HTTPError, AddressRefused, BadBody, ValueError, RecursionError)
"""All that an exchange may raise; the last two come from decoding what the server sent."""
_SDK_GIVES_UP = 3600.0
"""Timeout that the SDK is told; the exchange's deadline always comes first."""


class ModelList(Record):
    """Answer to a connection test."""

    outcome: CallOutcome
    detail: str = ""
    models: tuple[str, ...] = ()


class ModelClient:
    """Sends requests to one endpoint. Safe to use from several threads: nothing is kept between calls."""

    def __init__(
        self,
        endpoint: Endpoint,
        policy: AddressPolicy = ANYWHERE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare; nothing is sent.

        Args:
            endpoint: Where to and with which key.
            policy: Addresses that the host may have; the site allows fewer than the command line.
            clock: Monotonic seconds.
        """
        self.endpoint = endpoint
        self._policy = policy
        self._clock = clock

    def send(
        self, request: ModelRequest, output_limit: int | None = None, deadline_s: float | None = None
    ) -> ModelReply:
        """Ask once.

        Args:
            request: The question.
            output_limit: Tokens of the answer; None: the request's, else the endpoint's.
            deadline_s: From now until the last byte; None: the endpoint's, which is never passed.

        Returns:
            A reply for every outcome; `charge` says what a ledger has to do with it.
        """
        limit = output_limit or request.max_output_tokens or self.endpoint.max_output_tokens
        fields = _fields(self.endpoint, request, limit)
        exchange = self._exchange(deadline_s)
        started = self._clock()
        try:
            with self._sdk(exchange) as sdk:
                document, request_id = _ask(sdk, fields, streaming=self.endpoint.streaming)
            reply = _reply_of_document(document, request, limit, self.endpoint)
        except _FAULTS as error:
            reply, request_id = _reply_of_error(error, exchange, self.endpoint), ""
        facts = {"endpoint": self.endpoint.name, "request_id": request_id}
        return reply.model_copy(update={**facts, "latency_s": max(0.0, self._clock() - started)})

    def models(self, deadline_s: float = 15.0) -> ModelList:
        """Names of the server's models: the cheapest test of address and key. Not every server has a list."""
        exchange = self._exchange(deadline_s)
        try:
            with self._sdk(exchange) as sdk:
                names = model_names(json.loads(sdk.models.with_raw_response.list().content))
        except _FAULTS as error:
            reply = _reply_of_error(error, exchange, self.endpoint)
            return ModelList(outcome=reply.outcome, detail=reply.detail)
        return ModelList(outcome=CallOutcome.OK, models=names)

    def _exchange(self, deadline_s: float | None) -> Exchange:
        allowed = (
            self.endpoint.deadline_s if deadline_s is None else min(deadline_s, self.endpoint.deadline_s)
        )
        return Exchange(self._clock() + allowed, self._policy, self._clock)

    def _sdk(self, exchange: Exchange) -> openai.OpenAI:
        return openai.OpenAI(
            api_key=self.endpoint.api_key.get_secret_value() or "none",
            base_url=self.endpoint.base_url,
            max_retries=0,
            timeout=_SDK_GIVES_UP,
            http_client=httpx2.Client(
                transport=Transport(exchange, _tls()), trust_env=False, follow_redirects=False
            ),
        )


@cache
def _tls() -> ssl.SSLContext:
    """Reading the certificates takes tens of milliseconds."""
    return httpx2.create_ssl_context()


def _fields(endpoint: Endpoint, request: ModelRequest, limit: int) -> dict[str, Any]:
    """Body of the request, in the words of the protocol."""
    fields: dict[str, Any] = {
        "model": endpoint.model,
        "messages": [message.dump() for message in request.messages],
        endpoint.limit_name: limit,
    }
    temperature = endpoint.temperature if request.temperature is None else request.temperature
    if temperature is not None:
        fields["temperature"] = temperature
    if request.answer_schema is not None and endpoint.json_schema:
        schema = {"name": SCHEMA_NAME, "schema": request.answer_schema, "strict": True}
        fields["response_format"] = {"type": "json_schema", "json_schema": schema}
    return fields


def _ask(sdk: openai.OpenAI, fields: dict[str, Any], *, streaming: bool) -> tuple[object, str]:
    """The decoded answer, a stream's chunks joined, and the provider's identity of the request."""
    if not streaming:
        raw = sdk.chat.completions.with_raw_response.create(**fields)
        return json.loads(raw.content), _request_id(raw.headers)
    stream = sdk.chat.completions.create(**fields, stream=True, stream_options={"include_usage": True})
    response = stream.response
    if "event-stream" not in response.headers.get("content-type", ""):
        # Some servers know no streams and answer at once.
        return json.loads(response.read()), _request_id(response.headers)
    return join_chunks(_chunks(stream)), _request_id(response.headers)


def _chunks(stream: openai.Stream[Any]) -> Iterator[dict[str, Any]]:
    for chunk in stream:
        if not isinstance(chunk, openai.BaseModel):
            raise BadBody("a part of the stream is no object")
        yield chunk.to_dict()


def _request_id(headers: httpx2.Headers) -> str:
    return texts.plain(headers.get("x-request-id", ""))[:200]


def _reply_of_document(document: object, request: ModelRequest, limit: int, endpoint: Endpoint) -> ModelReply:
    if (error := read_error(document)) is not None:
        return _reply_of_status(error.status, error.words, {}, endpoint)
    completion = read_completion(document)
    if completion is None:
        raise BadBody("status 200, but no chat completion")
    outcome = completion.outcome
    usage = _usage(completion, request, limit)
    # Our count knows nothing of hidden reasoning, so it stands only where the text is what was paid for.
    countable = outcome in {CallOutcome.OK, CallOutcome.TRUNCATED, CallOutcome.REFUSED}
    return ModelReply(
        outcome=outcome,
        text=texts.plain(texts.masked(completion.text, endpoint.api_key)),
        detail=texts.reason(completion.detail, endpoint.api_key),
        usage=usage,
        charge=Charge.USED if countable or not usage.estimated else Charge.CEILING,
        cost_usd=endpoint.cost_usd(usage),
        model=completion.model,
        fingerprint=completion.fingerprint,
    )


def _usage(completion: Completion, request: ModelRequest, limit: int) -> TokenUsage:
    """As the server told, unless it told nothing or what cannot be."""
    likely = estimate_messages(request.messages)
    told = completion.usage
    if told is not None and _is_plausible(told, completion, ceiling_tokens(request.messages), limit):
        return told
    answer = limit if completion.outcome is CallOutcome.TRUNCATED else estimate_tokens(completion.text)
    return TokenUsage(prompt_tokens=likely, completion_tokens=min(limit, answer), estimated=True)


def _is_plausible(told: TokenUsage, completion: Completion, prompt_ceiling: int, limit: int) -> bool:
    """Servers add templates and tools to a prompt, and some reason beyond the limit; ten times is an error."""
    if completion.text.strip() and not told.completion_tokens:
        return False
    prompt_fits = prompt_ceiling / 20 <= told.prompt_tokens <= prompt_ceiling * 10 + 1000
    return prompt_fits and told.completion_tokens <= limit * 10


def _reply_of_error(error: Exception, exchange: Exchange, endpoint: Endpoint) -> ModelReply:
    match error:
        case openai.APIStatusError():
            inner = read_error({"error": error.body})
            words = inner.words if inner else error.message
            return _reply_of_status(error.status_code, words, error.response.headers, endpoint)
        case openai.APITimeoutError() | httpx2.TimeoutException():
            outcome, words = CallOutcome.TIMEOUT, "no complete answer before the deadline"
        case openai.APIConnectionError() | httpx2.HTTPError():
            outcome = CallOutcome.INCOMPLETE if exchange.answered else CallOutcome.UNAVAILABLE
            words = f"connection failed: {error.__cause__ or error}"
        case openai.APIError():
            # Inside of a stream, after parts of an answer that may be billed.
            inner = read_error({"error": error.body})
            reply = _reply_of_status(inner.status if inner else 0, error.message, {}, endpoint)
            return reply.model_copy(update={"charge": Charge.CEILING})
        case AddressRefused():
            outcome, words = CallOutcome.BLOCKED_ADDRESS, str(error)
        case _:
            outcome, words = CallOutcome.BAD_GATEWAY_RESPONSE, f"unreadable answer: {error}"
    charge = Charge.CEILING if exchange.sent else Charge.NOTHING
    return ModelReply(outcome=outcome, detail=texts.reason(words, endpoint.api_key), charge=charge)


def _reply_of_status(status: int, words: str, headers: Mapping[str, str], endpoint: Endpoint) -> ModelReply:
    outcome = outcome_of_status(status, words)
    if 300 <= status < 400:
        words = f"the server redirects to {headers.get('location', 'nowhere')}, which is not followed"
    return ModelReply(
        outcome=outcome,
        detail=texts.reason(f"{status or 'error'}: {words}", endpoint.api_key),
        charge=charge_of_status(status),
        retry_after_s=retry_after_s(headers),
    )
