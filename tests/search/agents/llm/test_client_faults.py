"""Every fault of a model server becomes the outcome that it should, over real HTTP."""

from __future__ import annotations

import socket
import threading
import time

import pytest
from llm_factories import KEY, endpoint_at, request_of

from search.agents.llm.addresses import POLICIES
from search.agents.llm.client import ModelClient
from search.agents.llm.outcomes import CallOutcome as Out
from search.agents.llm.outcomes import Charge
from tests.fakes.model_server import Answer, ModelServer, replies

LONG = "text " * 200


def sent(fault, argument="", **fields):
    """The reply to one request that meets one fault, and the server's list of requests."""
    with ModelServer(replies(Answer(LONG, fault=fault, argument=argument))) as server:
        reply = ModelClient(endpoint_at(server.url, **fields)).send(request_of())
    return reply, server.seen


FAULTS = [
    ("F177", "quota", "", Out.QUOTA, Charge.NOTHING),
    ("F177", "payment_required", "", Out.QUOTA, Charge.NOTHING),
    *[("F178", "status", status, Out.UNAVAILABLE, Charge.NOTHING) for status in ("500", "502", "503", "529")],
    ("F178", "status", "504", Out.UNAVAILABLE, Charge.CEILING),
    ("F178", "close", "", Out.UNAVAILABLE, Charge.CEILING),
    ("F178", "reset", "", Out.UNAVAILABLE, Charge.CEILING),
    ("F178", "reset_mid_body", "", Out.INCOMPLETE, Charge.CEILING),
    ("F181", "no_finish", "", Out.INCOMPLETE, Charge.USED),
    ("F182", "length", "", Out.TRUNCATED, Charge.USED),
    ("F183", "content_filter", "", Out.REFUSED, Charge.USED),
    ("F183", "refusal", "", Out.REFUSED, Charge.USED),
    ("F183", "prompt_filtered", "", Out.REFUSED, Charge.NOTHING),
    ("F184", "no_choices", "", Out.EMPTY, Charge.USED),
    ("F184", "null_content", "", Out.EMPTY, Charge.USED),
    ("F184", "tool_call", "", Out.EMPTY, Charge.USED),
    ("F184", "reasoning_only", "", Out.EMPTY, Charge.USED),
    *[
        ("F185", fault, "", Out.BAD_GATEWAY_RESPONSE, Charge.CEILING)
        for fault in (
            "html",
            "json_as_text",
            "cut_json",
            "deep_json",
            "json_array",
            "truncated_gzip",
            "huge_body",
        )
    ],
    ("F185", "error_in_200", "", Out.UNAVAILABLE, Charge.NOTHING),
    ("F185", "redirect", "", Out.NOT_FOUND, Charge.NOTHING),
    ("F193", "unauthorized", "", Out.UNAUTHORIZED, Charge.NOTHING),
    ("F193", "no_model", "", Out.NOT_FOUND, Charge.NOTHING),
    ("F193", "context", "", Out.CONTEXT_TOO_LONG, Charge.NOTHING),
    ("F193", "context_vllm", "", Out.CONTEXT_TOO_LONG, Charge.NOTHING),
    ("F193", "context_llama_cpp", "", Out.CONTEXT_TOO_LONG, Charge.NOTHING),
    ("F193", "bad_request", "", Out.BAD_REQUEST, Charge.NOTHING),
]


@pytest.mark.parametrize(
    ("row", "fault", "argument", "outcome", "charge"), FAULTS, ids=lambda value: str(value) or "-"
)
def test_a_fault_is_a_typed_outcome(row, fault, argument, outcome, charge):
    reply, seen = sent(fault, argument)
    assert (reply.outcome, reply.charge) == (outcome, charge)
    assert reply.detail
    assert len(seen) == 1, "the SDK repeats nothing by itself"


STREAM_FAULTS = [
    ("F181", "cut_stream", Out.INCOMPLETE, Charge.CEILING),
    ("F181", "error_in_stream", Out.RATE_LIMITED, Charge.CEILING),
    ("F185", "junk_in_stream", Out.BAD_GATEWAY_RESPONSE, Charge.CEILING),
    ("F178", "reset_mid_body", Out.INCOMPLETE, Charge.CEILING),
    ("F185", "html", Out.BAD_GATEWAY_RESPONSE, Charge.CEILING),
    ("F185", "huge_body", Out.BAD_GATEWAY_RESPONSE, Charge.CEILING),
    ("F177", "quota", Out.QUOTA, Charge.NOTHING),
]


@pytest.mark.parametrize(("row", "fault", "outcome", "charge"), STREAM_FAULTS)
def test_a_fault_of_a_stream_is_a_typed_outcome(row, fault, outcome, charge):
    reply, _ = sent(fault, streaming=True)
    assert (reply.outcome, reply.charge) == (outcome, charge)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("2", 2.0),
        ("3600", 3600.0),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
    ],
)
def test_retry_after_is_read_or_ignored(value, seconds):
    reply, _ = sent("rate_limited", value)
    assert (reply.outcome, reply.retry_after_s) == (Out.RATE_LIMITED, seconds)


@pytest.mark.parametrize("fault", ["hang", "drip", "drip_headers", "drip_stream"])
def test_a_slow_server_is_cut_off_at_the_deadline(fault):
    """F179, F180: no read of a drip ever times out by itself."""
    started = time.monotonic()
    reply, _ = sent(fault, deadline_s=0.4, streaming=fault == "drip_stream")
    assert (reply.outcome, reply.charge) == (Out.TIMEOUT, Charge.CEILING)
    assert time.monotonic() - started < 1.2
    assert 0.3 < reply.latency_s < 1.0


def test_a_large_body_is_not_read_to_its_end():
    started = time.monotonic()
    reply, _ = sent("huge_body")
    assert "4 MiB" in reply.detail
    assert time.monotonic() - started < 5


def test_a_refused_connection_and_an_unknown_name_cost_nothing():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
        refused = ModelClient(endpoint_at(url)).send(request_of())
    unknown = ModelClient(endpoint_at("http://nobody.invalid/v1", deadline_s=5.0)).send(request_of())
    assert {refused.outcome, unknown.outcome} <= {Out.UNAVAILABLE, Out.TIMEOUT}
    assert refused.charge is unknown.charge is Charge.NOTHING


def test_a_server_without_tls_fails_the_handshake():
    with ModelServer(replies("hello")) as server:
        reply = ModelClient(endpoint_at(server.url.replace("http:", "https:"))).send(request_of())
    assert (reply.outcome, reply.charge) == (Out.UNAVAILABLE, Charge.NOTHING)
    assert "SSL" in reply.detail


def test_a_connection_that_is_never_accepted_ends_at_the_deadline():
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        with socket.create_connection(full.getsockname()), socket.socket() as second:
            second.setblocking(False)
            second.connect_ex(full.getsockname())
            started = time.monotonic()
            url = f"http://127.0.0.1:{full.getsockname()[1]}/v1"
            reply = ModelClient(endpoint_at(url, deadline_s=0.3)).send(request_of())
    assert reply.outcome is Out.TIMEOUT
    assert time.monotonic() - started < 1.3


@pytest.mark.parametrize("fault", ["no_usage", "zero_usage", "absurd_usage", "wrong_usage"])
def test_usage_that_is_missing_or_nonsense_is_estimated_and_flagged(fault):
    """F189."""
    reply, _ = sent(fault)
    assert reply.is_ok
    assert reply.usage.estimated
    assert 5 <= reply.usage.prompt_tokens < 100
    assert 200 <= reply.usage.completion_tokens <= 400
    assert reply.charge is Charge.USED
    assert reply.cost_usd > 0


def test_unknown_prices_make_the_cost_unknown_not_zero():
    reply, _ = sent("", prices=None)
    assert reply.is_ok
    assert reply.cost_usd is None


def test_a_model_that_changed_behind_its_name_is_told():
    """F194."""
    reply, _ = sent("other_model")
    assert (reply.model, reply.fingerprint) == ("model-2031-01", "fp_2")


def test_binary_junk_is_plain_text_that_can_be_stored():
    """F200."""
    reply, _ = sent("binary")
    assert reply.is_ok
    assert reply.text == "ab[31mred\ufffd \ufffd end"
    reply.model_dump_json().encode()


def test_no_key_is_in_any_reason():
    with ModelServer(replies("hello"), key="another-key") as server:
        reply = ModelClient(endpoint_at(server.url)).send(request_of())
    assert reply.outcome is Out.UNAUTHORIZED
    assert "[key]" in reply.detail
    assert KEY not in reply.model_dump_json()
    foreign, _ = sent("unauthorized")
    assert "0123456789abcdef" not in foreign.detail


def test_an_address_inside_is_refused_before_anything_is_sent():
    with ModelServer(replies("hello")) as server:
        port = server.url.split(":")[2].split("/")[0]
        for host in ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "0x7f000001"):
            client = ModelClient(endpoint_at(f"http://{host}:{port}/v1"), POLICIES["public"])
            reply = client.send(request_of())
            assert reply.outcome is Out.BLOCKED_ADDRESS, host
            assert reply.charge is Charge.NOTHING
        allowed = ModelClient(endpoint_at(server.url), POLICIES["loopback"]).send(request_of())
    assert allowed.is_ok
    assert len(server.seen) == 1


def test_a_redirect_inside_is_not_followed():
    reply, _ = sent("redirect")
    assert "169.254.169.254" in reply.detail
    assert "not followed" in reply.detail


def test_proxies_and_organisations_of_the_environment_are_not_used(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    reply, seen = sent("")
    assert reply.is_ok
    assert "org-secret" not in str(seen[0].headers)
    assert set(seen[0].headers) <= {
        "host", "accept", "accept-encoding", "authorization", "connection", "content-length", "content-type",
        "user-agent",
    }  # fmt: skip


def test_many_threads_may_share_a_client():
    with ModelServer(lambda conversation: Answer(conversation.prompt)) as server:
        client = ModelClient(endpoint_at(server.url))
        texts = {}
        threads = [
            threading.Thread(
                target=lambda n=n: texts.update({n: client.send(request_of(f"number {n}")).text})
            )
            for n in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    assert texts == {n: f"number {n}" for n in range(8)}
