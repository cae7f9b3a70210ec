"""Calls with a budget: what is tried again, how long is waited, and what each attempt costs."""

from __future__ import annotations

import random
import threading

import pytest
from llm_factories import endpoint_at, request_of

from search.agents.llm.calling import BudgetedCaller, Patience
from search.agents.llm.choice import Bandit, Share, TrackRecord
from search.agents.llm.client import ModelClient
from search.agents.llm.ledger import MemoryMeter
from search.agents.llm.limits import KeyLimits, NoTurn
from search.agents.llm.outcomes import CallOutcome as Out
from search.agents.llm.outcomes import Charge, ModelReply, TokenUsage
from tests.fakes.model_faults import FAULTS
from tests.fakes.model_server import Answer, ModelServer, replies


class Time:
    """A clock that only sleeping moves."""

    def __init__(self):
        self.now = 0.0
        self.pauses = []

    def sleep(self, seconds):
        self.pauses.append(seconds)
        self.now += seconds


class Kept(list):
    """A transcript in memory."""

    store = list.append


def calling(server, meter=None, patience=None, **fields):
    """A caller at the server, and its clock and transcript."""
    time = Time()
    caller = BudgetedCaller(
        [ModelClient(endpoint_at(server.url, **fields))],
        meter or MemoryMeter(),
        Kept(),
        limits=KeyLimits(lambda: time.now),
        patience=patience or Patience(),
        clock=lambda: time.now,
        sleep=time.sleep,
        chance=random.Random(1),
    )
    return caller, time


def called(*answers, request=None, **fields):
    with ModelServer(replies(*answers)) as server:
        caller, time = calling(server, **fields)
        reply = caller.call(request or request_of())
    return reply, caller, time, server.seen


def fault(name, argument=""):
    return Answer("half of a text", fault=name, argument=argument)


@pytest.mark.parametrize(
    "name", ["close", "reset", "no_choices", "null_content", "no_finish", "html", "cut_json"]
)
def test_a_fault_that_may_pass_is_tried_again(name):
    reply, caller, _, seen = called(fault(name), "fine")
    assert (reply.text, reply.attempts, len(seen)) == ("fine", 2, 2)
    assert [record.attempt.number for record in caller.transcript] == [1, 2]
    assert [record.reply.is_ok for record in caller.transcript] == [False, True]


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("quota", Out.QUOTA), ("unauthorized", Out.UNAUTHORIZED), ("no_model", Out.NOT_FOUND),
        ("context", Out.CONTEXT_TOO_LONG), ("bad_request", Out.BAD_REQUEST), ("refusal", Out.REFUSED),
        ("content_filter", Out.REFUSED), ("redirect", Out.NOT_FOUND),
    ],
)  # fmt: skip
def test_what_cannot_pass_is_asked_once(name, outcome):
    reply, _, time, seen = called(fault(name), "never reached")
    assert (reply.outcome, reply.attempts, len(seen), time.pauses) == (outcome, 1, 1, [])


def test_a_burst_of_errors_is_waited_out_with_full_jitter():
    """F178."""
    reply, _, time, _ = called(fault("status", "503"), fault("status", "529"), fault("status", "500"), "fine")
    assert (reply.is_ok, reply.attempts) == (True, 4)
    assert all(0 <= pause <= 2**number for number, pause in enumerate(time.pauses))
    assert len(set(time.pauses)) == 3


def test_attempts_end():
    reply, _, _, seen = called(fault("status", "503"))
    assert (reply.outcome, reply.attempts, len(seen)) == (Out.UNAVAILABLE, 4, 4)


@pytest.mark.parametrize("name", ["no_choices", "no_finish", "html"])
def test_what_was_paid_for_is_repeated_once_only(name):
    reply, _, _, seen = called(fault(name))
    assert not reply.is_ok
    assert len(seen) == 2


@pytest.mark.parametrize(
    ("value", "low", "high"), [("2", 2, 3), ("120", 120, 121), ("soon", 0, 1), ("", 0, 1)]
)
def test_the_servers_wish_is_honoured(value, low, high):
    """F176."""
    reply, _, time, _ = called(fault("rate_limited", value), "fine")
    assert reply.is_ok
    assert len(time.pauses) == 1
    assert low <= time.pauses[0] <= high


def test_a_long_wish_is_reported_with_its_time_instead():
    reply, _, time, seen = called(fault("rate_limited", "3600"), "never reached")
    assert (reply.outcome, reply.retry_after_s, reply.charge) == (Out.RATE_LIMITED, 3600.0, Charge.NOTHING)
    assert (len(seen), time.pauses) == (1, [])


def test_a_blocked_key_is_blocked_for_every_caller_of_the_process():
    with ModelServer(replies(fault("rate_limited", "3600"), "fine")) as server:
        caller, _ = calling(server)
        caller.call(request_of())
        other, _ = calling(server)
        other.limits = caller.limits
        reply = other.call(request_of())
    assert (reply.outcome, reply.attempts, reply.retry_after_s) == (Out.RATE_LIMITED, 0, 3600.0)
    assert len(server.seen) == 1


def test_no_attempt_starts_after_the_deadline():
    patience = Patience(attempts=10, total_s=5.0)
    reply, _, time, seen = called(fault("rate_limited", "2"), patience=patience)
    assert reply.outcome is Out.RATE_LIMITED
    assert time.now < 5
    assert len(seen) == 2


def test_a_truncated_answer_is_asked_again_with_a_larger_limit():
    """F182."""
    reply, caller, _, seen = called(fault("length"), "whole", request=request_of(max_output_tokens=300))
    assert (reply.text, reply.attempts) == ("whole", 2)
    assert [one.body["max_tokens"] for one in seen] == [300, 600]
    assert [record.attempt.output_limit for record in caller.transcript] == [300, 600]
    assert {record.request_hash for record in caller.transcript} == {request_of(max_output_tokens=300).hash}


def test_a_truncated_answer_at_the_largest_limit_is_reported():
    reply, _, _, seen = called(fault("length"))
    assert (reply.outcome, len(seen)) == (Out.TRUNCATED, 1)
    twice, _, _, seen = called(fault("length"), request=request_of(max_output_tokens=300))
    assert (twice.outcome, len(seen)) == (Out.TRUNCATED, 2)


def test_a_prompt_that_leaves_no_room_is_not_sent():
    """F199."""
    reply, caller, _, seen = called("fine", request=request_of("word " * 2000), context_tokens=2048)
    assert (reply.outcome, reply.attempts, seen) == (Out.CONTEXT_TOO_LONG, 0, [])
    assert "2048" in reply.detail
    assert caller.meter.account.tokens == 0


def test_the_output_limit_shrinks_to_the_context_window():
    _, _, _, seen = called("fine", request=request_of("word " * 1500), context_tokens=2048)
    assert 256 <= seen[0].body["max_tokens"] < 1000


def test_every_attempt_is_charged_by_itself():
    """F192: a timeout may have been billed, so its ceiling is."""
    with ModelServer(replies(fault("close"), Answer("fine", usage=(10, 20)))) as server:
        caller, _ = calling(server)
        reply = caller.call(request_of())
    first, second = caller.transcript
    account = caller.meter.account
    assert (first.reply.charge, second.reply.charge) == (Charge.CEILING, Charge.USED)
    assert account.unknown.prompt_tokens + account.unknown.completion_tokens == first.attempt.ceiling_tokens
    assert account.settled.completion_tokens == 20
    assert reply.spent.calls == 2
    assert reply.spent.completion_tokens == 1000 + 20
    assert reply.spent.cost_usd == pytest.approx(account.usd)
    assert account.reserved_tokens == 0


def test_the_budget_is_asked_before_the_server():
    """F190, F191."""
    reply, _, _, seen = called("fine", meter=MemoryMeter(tokens_cap=500))
    assert (reply.outcome, reply.attempts, seen) == (Out.BUDGET, 0, [])
    assert "500 are left" in reply.detail
    reply, _, _, seen = called("fine", meter=MemoryMeter(usd_cap=0.0))
    assert (reply.outcome, seen) == (Out.BUDGET, [])


def test_a_cap_on_money_needs_prices():
    """F189."""
    reply, _, _, seen = called("fine", meter=MemoryMeter(usd_cap=5.0), prices=None)
    assert (reply.outcome, seen) == (Out.BUDGET, [])
    assert "prices of fake are unknown" in reply.detail
    reply, _, _, _ = called("fine", meter=MemoryMeter(tokens_cap=5000), prices=None)
    assert reply.is_ok


def test_a_retry_that_the_budget_no_longer_pays_is_not_sent():
    reply, _, _, seen = called(fault("close"), "fine", meter=MemoryMeter(tokens_cap=1500))
    assert (reply.outcome, reply.attempts, len(seen)) == (Out.BUDGET, 1, 1)


def test_exceptions_of_the_owner_of_a_meter_pass_through():
    class Stopped(Exception):
        pass

    class StoppedMeter(MemoryMeter):
        def reserve(self, attempt):
            raise Stopped

    with ModelServer(replies("fine")) as server:
        caller, _ = calling(server, StoppedMeter())
        with pytest.raises(Stopped):
            caller.call(request_of())
        caller.meter = MemoryMeter()
        assert caller.call(request_of()).is_ok, "the turn was given back"


def test_ten_callers_at_once_never_pass_the_cap():
    """F190: each call may need about 1,030 tokens, so a cap of 5,000 pays four at a time."""
    meter = MemoryMeter(tokens_cap=5000)
    most = []

    def slow(conversation):
        most.append(meter.account.tokens)
        return Answer("fine", delay_s=0.05, usage=(20, 900))

    with ModelServer(slow) as server:
        caller = BudgetedCaller([ModelClient(endpoint_at(server.url, concurrency=10))], meter)
        outcomes = []
        threads = [
            threading.Thread(target=lambda: outcomes.append(caller.call(request_of()).outcome))
            for _ in range(10)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert max(most) <= 5000
    assert outcomes.count(Out.OK) == len(server.seen) <= 5
    assert outcomes.count(Out.BUDGET) == 10 - len(server.seen) >= 5


def test_only_so_many_calls_of_a_key_are_in_flight():
    now, most = [0], [0]
    lock = threading.Lock()

    class Busy:
        endpoint = endpoint_at("http://host/v1", concurrency=2)

        def send(self, request, output_limit, deadline_s):
            with lock:
                now[0] += 1
                most[0] = max(most[0], now[0])
            threading.Event().wait(0.02)
            with lock:
                now[0] -= 1
            return ModelReply(outcome=Out.OK, text="x", usage=TokenUsage(prompt_tokens=1))

    caller = BudgetedCaller([Busy()], MemoryMeter())
    threads = [threading.Thread(target=caller.call, args=(request_of(),)) for _ in range(7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert most == [2]
    assert caller.meter.account.settled.calls == 7


def test_calls_per_minute_are_kept():
    limits = KeyLimits(window_s=0.2)
    endpoint = endpoint_at("http://host/v1", requests_per_minute=3)
    for _ in range(3):
        with limits.turn(endpoint, 0.0):
            pass
    with pytest.raises(NoTurn) as busy, limits.turn(endpoint, 0.05):
        pass
    assert 0.05 < busy.value.retry_after_s <= 0.2
    with limits.turn(endpoint, 1.0):
        pass
    with limits.turn(endpoint_at("http://other/v1", requests_per_minute=3), 0.0):
        pass  # another host has its own count


def test_models_share_the_calls_and_a_request_keeps_its_model():
    names = ["a", "b", "c"]
    requests = [request_of(turn=str(number)) for number in range(2000)]
    picks = [Share({"a": 3.0, "b": 1.0, "c": 0.0}).pick(names, request) for request in requests]
    assert picks == [Share({"a": 3.0, "b": 1.0, "c": 0.0}).pick(names, request) for request in requests]
    assert picks.count("c") == 0
    assert 0.71 < picks.count("a") / 2000 < 0.79


def test_the_bandit_prefers_what_gained_and_still_tries_the_unknown():
    records = {"good": TrackRecord(drafts=30, gains=15), "bad": TrackRecord(drafts=30, gains=1)}
    requests = [request_of(turn=str(number)) for number in range(500)]
    picks = [Bandit(records).pick(["good", "bad", "new"], request) for request in requests]
    assert picks.count("bad") < 5
    assert picks.count("good") > 150
    assert picks.count("new") > 150


def test_of_several_models_the_weakest_decides_what_a_prompt_may_be():
    endpoints = [
        endpoint_at("http://a/v1", name="a", context_tokens=8192, json_schema=True),
        endpoint_at("http://b/v1", name="b", context_tokens=4096),
    ]
    caller = BudgetedCaller([ModelClient(endpoint) for endpoint in endpoints], MemoryMeter())
    assert (caller.context_tokens, caller.json_schema) == (4096, False)


def test_under_random_faults_the_servers_log_is_the_ledgers():
    """I5 of reliability.md: what a provider saw is what was reserved, call by call, and no cap is passed."""
    chance = random.Random(7)
    names = [
        name for name in FAULTS if name not in {"hang", "drip", "drip_headers", "drip_stream", "huge_body"}
    ]

    def script(conversation):
        name = chance.choice([*names, *[""] * len(names)])
        return Answer("fine " * 20, fault=name, argument="503" if name == "status" else "")

    meter = MemoryMeter(tokens_cap=15_000, usd_cap=0.3)
    with ModelServer(script) as server:
        caller, _ = calling(server, meter)
        replies_got = [caller.call(request_of(turn=str(number))) for number in range(80)]
    assert len(server.seen) == len(caller.transcript)
    assert sum(reply.attempts for reply in replies_got) == len(server.seen)
    account = meter.account
    assert account.tokens <= 15_000
    assert account.usd <= 0.3 + 1e-12
    assert account.reserved_tokens == 0
    spent = sum(reply.spent.prompt_tokens + reply.spent.completion_tokens for reply in replies_got)
    assert spent == account.tokens
    outcomes = {reply.outcome for reply in replies_got}
    assert {Out.OK, Out.BUDGET} < outcomes
