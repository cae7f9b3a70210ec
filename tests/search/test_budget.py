"""The account of a search: charges, reservations, and caps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.budget import Ending, Ledger, Spent
from search.records import DraftKind, Stage
from search.settings import Budget
from search.steps import Draft, Outcome, Variant
from search.usage import Usage


def variant(number: int, stage: Stage = Stage.TUNE) -> Variant:
    return Variant(number=number, stage=stage, structure="s", base=1, knobs={})


def draft(number: int) -> Draft:
    return Draft(number=number, kind=DraftKind.EXPLORE, stage=Stage.EXPLORE, seed=0)


def ledger(**caps) -> Ledger:
    return Ledger(Budget(**({"evaluations": 10} | caps)))


def spend(account: Ledger, item, **outcome) -> None:
    account.reserve(item)
    account.settle(item, Outcome(**outcome))


def test_it_works():
    account = ledger()
    spend(account, variant(1), charged=True, device_seconds=2.5)
    spend(
        account,
        draft(2),
        charged=True,
        device_seconds=1.5,
        usage=Usage(calls=1, prompt_tokens=5, cost_usd=0.5),
    )
    assert account.spent == Spent(evaluations=2, device_seconds=4.0, tokens=5, cost_usd=0.5, calls=1)
    assert account.by_stage[Stage.TUNE] == Spent(evaluations=1, device_seconds=2.5)


def test_a_step_in_flight_holds_one_evaluation():
    account = ledger()
    account.reserve(variant(1))
    assert account.left(10) == 9
    account.settle(variant(1), Outcome(charged=False))
    assert account.left(10) == 10


def test_an_allowance_is_cumulative_and_never_negative():
    account = ledger()
    for number in range(6):
        spend(account, variant(number), charged=True)
    assert (account.left(8), account.left(4), account.left(99)) == (2, 0, 4)


def test_an_uncharged_step_costs_no_device_seconds():
    account = ledger(device_seconds=5)
    spend(account, variant(1), charged=False, device_seconds=100.0)
    assert account.spent.device_seconds == 0
    assert account.ending is None


def test_device_seconds_buy_evaluations_at_the_mean_so_far():
    account = ledger(evaluations=100, device_seconds=30)
    assert account.total == 100
    spend(account, variant(1), charged=True, device_seconds=2.0)
    assert account.total == 15
    spend(account, variant(2), charged=True, device_seconds=4.0)
    assert account.total == 10
    assert account.left(100) == 8


def test_endings_name_the_cap():
    account = ledger(evaluations=4)
    for number in range(4):
        assert account.ending is None
        spend(account, variant(number), charged=True)
    assert account.ending is Ending.EVALUATIONS
    account = ledger(device_seconds=2)
    spend(account, variant(1), charged=True, device_seconds=2.5)
    assert account.ending is Ending.DEVICE_SECONDS


@pytest.mark.parametrize(
    ("caps", "ending"), [({"tokens": 100}, Ending.TOKENS), ({"cost_usd": 1.0}, Ending.COST)]
)
def test_tokens_and_cost_stop_drafts(caps, ending):
    account = ledger(**caps)
    assert account.may_draft
    spend(account, draft(1), usage=Usage(calls=1, prompt_tokens=40, completion_tokens=20, cost_usd=0.6))
    assert account.may_draft
    account.reserve(draft(2))
    assert not account.may_draft, "the draft in flight is expected to cost as much again"
    assert account.draft_ending is ending


def test_next_to_no_device_seconds_buy_no_more_than_the_cap():
    account = ledger(device_seconds=5)
    spend(account, variant(1), charged=True, device_seconds=5e-324)
    assert account.total == 10


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 9), st.integers(0, 99)), max_size=12), st.randoms())
def test_the_order_of_arrival_does_not_matter(told, source):
    steps = [(variant(number, list(Stage)[number % 3]), *each) for number, each in enumerate(told)]
    shuffled = source.sample(steps, len(steps))
    one, other = ledger(device_seconds=20), ledger(device_seconds=20)
    for account, order in ((one, steps), (other, shuffled)):
        for item, *_ in steps:
            account.reserve(item)
        for item, charged, seconds, tokens in order:
            usage = Usage(prompt_tokens=tokens)
            account.settle(item, Outcome(charged=charged, device_seconds=seconds, usage=usage))
    assert one.spent.model_dump() == pytest.approx(other.spent.model_dump())
    assert one.total == other.total
