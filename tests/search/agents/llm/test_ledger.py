"""The ledger in memory: reserved + settled + unknown never pass a cap."""

from __future__ import annotations

import random
import sys
import threading

import pytest
from llm_factories import request_of

from search.agents.llm.ledger import MemoryMeter, charge_of
from search.agents.llm.outcomes import Attempt, BudgetRefused, CallOutcome, Charge, ModelReply, TokenUsage


def attempt_of(ceiling_tokens=1000, ceiling_usd=0.01, output_limit=600):
    return Attempt(
        request=request_of(),
        endpoint="fake",
        host="host",
        model="m",
        output_limit=output_limit,
        ceiling_tokens=ceiling_tokens,
        ceiling_usd=ceiling_usd,
    )


def reply_of(prompt=100, completion=50, cost=0.001, charge=Charge.USED):
    usage = TokenUsage(prompt_tokens=prompt, completion_tokens=completion)
    return ModelReply(outcome=CallOutcome.OK, usage=usage, cost_usd=cost, charge=charge)


def test_it_works():
    meter = MemoryMeter(tokens_cap=1500, usd_cap=1.0)
    reservation = meter.reserve(attempt_of())
    assert meter.account.tokens == 1000
    with pytest.raises(BudgetRefused, match="500 are left") as refused:
        meter.reserve(attempt_of())
    assert refused.value.axis == "tokens"
    meter.settle(reservation, reply_of())
    assert (meter.account.tokens, meter.account.usd) == (150, 0.001)
    meter.reserve(attempt_of())


def test_what_nobody_knows_stays_at_its_ceiling():
    meter = MemoryMeter(tokens_cap=2500)
    meter.unknown(meter.reserve(attempt_of()), reply_of(charge=Charge.CEILING))
    meter.release(meter.reserve(attempt_of()), reply_of(charge=Charge.NOTHING))
    meter.reserve(attempt_of())  # its process dies here
    assert (meter.account.tokens, meter.account.usd) == (2000, pytest.approx(0.02))
    assert (meter.account.unknown.calls, meter.account.settled.calls) == (1, 0)


def test_a_charge_is_never_above_its_ceiling():
    attempt = attempt_of(ceiling_tokens=1000, ceiling_usd=0.01, output_limit=600)
    told = charge_of(attempt, reply_of(prompt=900, completion=900, cost=5.0))
    assert (told.prompt_tokens + told.completion_tokens, told.cost_usd) == (1000, 0.01)
    unknown = charge_of(attempt, reply_of(charge=Charge.CEILING))
    assert (unknown.prompt_tokens, unknown.completion_tokens, unknown.cost_usd) == (400, 600, 0.01)
    assert charge_of(attempt, reply_of(charge=Charge.NOTHING)).cost_usd == 0


def test_a_reservation_is_closed_once():
    meter = MemoryMeter()
    reservation = meter.reserve(attempt_of())
    meter.settle(reservation, reply_of())
    with pytest.raises(KeyError):
        meter.settle(reservation, reply_of())


def test_a_lowered_cap_holds_from_the_next_call_on_and_a_raised_one_too():
    """F191."""
    meter = MemoryMeter(tokens_cap=5000)
    meter.unknown(meter.reserve(attempt_of()), reply_of())
    meter.set_caps(500, None)
    with pytest.raises(BudgetRefused, match="0 are left"):
        meter.reserve(attempt_of())
    meter.set_caps(2000, None)
    meter.reserve(attempt_of())


def test_money_without_prices_is_refused_only_where_money_is_capped():
    free = attempt_of(ceiling_usd=None)
    MemoryMeter(tokens_cap=1000).reserve(free)
    with pytest.raises(BudgetRefused, match="unknown") as refused:
        MemoryMeter(usd_cap=10.0).reserve(free)
    assert refused.value.axis == "cost"


def test_a_thousand_random_interleavings_keep_the_cap():
    """Each seed orders the steps of eight calls with random ceilings and ends differently; checked at every step."""
    for seed in range(1000):
        run_interleaved(random.Random(seed))


def run_interleaved(chance):
    tokens_cap, usd_cap = chance.randint(0, 6000), chance.uniform(0, 0.06)
    meter = MemoryMeter(tokens_cap, usd_cap)
    calls = [whole_call(meter, chance) for _ in range(8)]
    while calls:
        call = chance.choice(calls)
        if next(call, None) is None:
            calls.remove(call)
        account = meter.account
        assert account.tokens <= tokens_cap
        assert account.usd <= usd_cap + 1e-12


def whole_call(meter, chance):
    """One call in steps that others may come between; it tries again when it was refused."""
    for _ in range(3):
        attempt = attempt_of(chance.randint(1, 2000), chance.uniform(0, 0.02), chance.randint(1, 1000))
        try:
            reservation = meter.reserve(attempt)
        except BudgetRefused:
            yield "refused"
            continue
        yield "reserved"
        end = chance.choice([meter.settle, meter.unknown, meter.release, None])
        if end is None:
            return  # died
        charge = {meter.settle: Charge.USED, meter.unknown: Charge.CEILING}.get(end, Charge.NOTHING)
        end(
            reservation,
            reply_of(chance.randint(0, 9000), chance.randint(0, 9000), chance.uniform(0, 1), charge),
        )
        yield "closed"


def test_threads_that_meet_at_the_same_moment_keep_the_cap():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for seed in range(20):
            race(random.Random(seed))
    finally:
        sys.setswitchinterval(interval)


def race(chance):
    meter = MemoryMeter(tokens_cap=5000)
    start = threading.Barrier(8)
    seeds = [chance.random() for _ in range(8)]
    worst = []

    def run(seed):
        start.wait(10)
        for _ in whole_call(meter, random.Random(seed)):
            worst.append(meter.account.tokens)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in seeds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert max(worst) <= 5000
