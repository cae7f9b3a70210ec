"""What the model client sends and how it reads proper answers, over real HTTP."""

from __future__ import annotations

import pytest
from llm_factories import KEY, endpoint_at, request_of
from pydantic import SecretStr, ValidationError

from search.agents.llm.client import ModelClient
from search.agents.llm.endpoint import Endpoint
from search.agents.llm.outcomes import CallOutcome, Charge
from tests.fakes.model_server import Answer, ModelServer, replies

SCHEMA = {"type": "object", "properties": {"plan": {"type": "string"}}, "required": ["plan"]}
TEXT = "Zeile\n```cpp\nint x = 1; // ö 🚀\n```\n" * 30


@pytest.mark.parametrize("streaming", [False, True])
def test_it_works(streaming):
    with ModelServer(replies(Answer(TEXT, usage=(40, 300))), key=KEY) as server:
        reply = ModelClient(endpoint_at(server.url, streaming=streaming)).send(request_of())
    assert reply.outcome is CallOutcome.OK, reply.detail
    assert reply.text == TEXT
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (40, 300)
    assert not reply.usage.estimated
    assert reply.cost_usd == pytest.approx((40 * 2.0 + 300 * 8.0) / 1e6)
    assert (reply.endpoint, reply.model, reply.fingerprint) == ("fake", "fake-model", "fp_1")
    assert reply.charge is Charge.USED
    assert 0 < reply.latency_s < 10


def body_of(request, **fields):
    with ModelServer(replies("ok")) as server:
        assert ModelClient(endpoint_at(server.url, **fields)).send(request).is_ok
    return server.seen[0].body


def test_the_request_holds_what_the_protocol_knows_and_no_more():
    body = body_of(request_of("hi", turn="3/code", draft=3, dropped=("experience",)))
    assert body == {
        "model": "fake-model",
        "messages": [{"role": "user", "content": "hi"}],
        "max_tokens": 1000,
    }


def test_the_limits_of_the_request_come_before_those_of_the_endpoint():
    body = body_of(request_of(max_output_tokens=50, temperature=0.0), temperature=0.7)
    assert (body["max_tokens"], body["temperature"]) == (50, 0.0)
    assert body_of(request_of(), temperature=0.7)["temperature"] == 0.7


def test_a_schema_is_sent_only_where_the_endpoint_obeys_schemas():
    request = request_of(answer_schema=SCHEMA)
    sent = body_of(request, json_schema=True)["response_format"]
    assert sent == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True},
    }
    assert "response_format" not in body_of(request)


def test_the_output_limit_has_the_name_that_the_server_knows():
    assert endpoint_at("https://api.openai.com/v1").limit_name == "max_completion_tokens"
    assert endpoint_at("https://api.openai.com.evil.example/v1").limit_name == "max_tokens"
    assert "max_completion_tokens" in body_of(request_of(), limit_field="max_completion_tokens")


def test_a_server_that_knows_no_streams_is_understood():
    def whole(conversation):
        conversation.body["stream"] = False
        return Answer("at once")

    with ModelServer(whole) as server:
        reply = ModelClient(endpoint_at(server.url, streaming=True)).send(request_of())
    assert reply.text == "at once"


def test_an_endpoint_without_key_sends_none_of_ours():
    with ModelServer(replies("ok")) as server:
        ModelClient(endpoint_at(server.url, api_key=SecretStr(""))).send(request_of())
    assert server.seen[0].headers["authorization"] == "Bearer none"


def test_a_server_that_echoes_the_key_does_not_bring_it_into_a_transcript():
    with ModelServer(lambda conversation: Answer(conversation.headers["authorization"])) as server:
        reply = ModelClient(endpoint_at(server.url)).send(request_of())
    assert reply.text == "Bearer [key]"


def test_models_are_listed():
    with ModelServer(replies("ok"), key=KEY, models=("a", "b")) as server:
        listed = ModelClient(endpoint_at(server.url)).models()
        refused = ModelClient(endpoint_at(server.url, api_key=SecretStr("wrong-key"))).models()
    assert (listed.outcome, listed.models) == (CallOutcome.OK, ("a", "b"))
    assert refused.outcome is CallOutcome.UNAUTHORIZED
    with ModelServer(replies("ok"), models=None) as server:
        assert ModelClient(endpoint_at(server.url)).models().outcome is CallOutcome.NOT_FOUND


def test_an_endpoint_never_shows_its_key():
    endpoint = endpoint_at("http://host/v1")
    for text in (
        repr(endpoint),
        str(endpoint.dump()),
        endpoint.model_dump_json(),
        str(endpoint.model_dump()),
    ):
        assert KEY not in text
    assert "api_key" not in endpoint.dump()
    assert Endpoint.load({**endpoint.dump(), "api_key": KEY}) == endpoint


@pytest.mark.parametrize(
    "url",
    [
        "ftp://host/v1",
        "host/v1",
        "https://",
        "http://user:pass@host/v1",
        "http://host:port/v1",
        "http://host/v1?key=1",
    ],
)
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(ValidationError, match="base_url"):
        endpoint_at(url)


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "schlüssel"])
def test_a_key_that_no_header_can_hold_is_refused_without_telling_it(key):
    with pytest.raises(ValidationError, match="api_key") as refused:
        endpoint_at("http://host/v1", api_key=SecretStr(key))
    assert key not in str(refused.value)


def test_a_request_is_known_by_what_is_asked():
    one = request_of("hi", turn="1/plan")
    assert one.hash == request_of("hi", turn="1/plan", dropped=("memory",), draft=1).hash
    others = [
        request_of("ho", turn="1/plan"),
        request_of("hi", turn="2/plan"),
        request_of("hi", role="planner"),
    ]
    assert len({one.hash, *(other.hash for other in others)}) == 4
    # Shipped transcripts are found by it.
    assert one.hash == "fcf7e3f013798b22d051797427941793659bde89cfae3715b4d75eee123164d7"
