"""What faults of a model and the caps do to a search: it waits, pauses or goes on without, and no call is paid twice."""

from __future__ import annotations

import threading
from datetime import timedelta
from functools import partial

import pytest
from checks import check_invariants
from django.db import connection
from django.utils import timezone
from model_rig import KEY, add_model, capped, check_ledger, launch_with

from kernelsite.endpoints.models import ModelEndpoint
from kernelsite.searches import calls, controls, dispatch, driver, holds, ledger, sweeper
from kernelsite.searches.launch import LaunchError
from kernelsite.searches.models import AtCap, CallState, Search, Step, StepState
from search.agents.llm.calling import Patience
from search.agents.llm.outcomes import (
    Attempt,
    BudgetRefused,
    CallOutcome,
    Charge,
    Message,
    ModelReply,
    ModelRequest,
    TokenUsage,
)
from search.records import SearchState
from tests.fakes import scripted_kernels
from tests.fakes.model_server import Answer, ModelServer


class Faulty:
    """The scripted model, with a fault while `fault` is set."""

    def __init__(self):
        self.fault = None

    def __call__(self, conversation):
        return self.fault or scripted_kernels.softmax_without_build_errors(conversation)


@pytest.fixture
def script():
    return Faulty()


@pytest.fixture
def server(script):
    with ModelServer(script, key=KEY) as server:
        yield server


@pytest.fixture
def launch_llm(order, team, wire, device, settings):
    settings.MODEL_HOSTS = "loopback"
    return lambda *rows, budget=None, **options: launch_with(order, rows, budget or capped(8), **options)


def texts(search, kind):
    return [payload["text"] for payload in search.events.filter(kind=kind).values_list("payload", flat=True)]


def test_a_long_rate_limit_waits_with_the_lease_released(launch_llm, team, script, server, wire):
    row = add_model(team, server)
    script.fault = Answer(fault="rate_limited", argument="3600")
    search = launch_llm(row)
    wire.run()
    search.refresh_from_db()
    assert (search.state, search.wait_reason, search.lease_owner) == ("waiting", "rate_limit", "")
    assert "rate_limited until" in search.reason
    assert timedelta(minutes=59) < search.calls_until - timezone.now() < timedelta(minutes=61)
    assert search.tokens_spent == 0
    # Nobody asks before the moment has come, this search or another one with the same key.
    sweeper.sweep()
    wire.run()
    other = launch_llm(row)
    wire.run()
    other.refresh_from_db()
    assert (other.state, other.wait_reason) == ("waiting", "rate_limit")
    assert len(server.seen) == 1
    # It has come.
    script.fault = None
    past = timezone.now() - timedelta(seconds=1)
    Search.objects.update(calls_until=past)
    Step.objects.filter(state=StepState.ASKED).update(lease_until=past)
    ModelEndpoint.objects.update(limited_until=past)
    sweeper.sweep()
    wire.run()
    for each in (search, other):
        assert check_invariants(each.pk).state == "finished"
    assert search.steps.get(number=1).attempt == 2


@pytest.mark.parametrize(
    ("fault", "word"),
    [
        ("quota", "quota"),
        ("unauthorized", "unauthorized"),
        ("no_model", "not_found"),
        ("context", "context_too_long"),
    ],
)
def test_what_a_person_must_mend_pauses_and_resume_continues_the_step(
    launch_llm, team, script, server, wire, fault, word
):
    search = launch_llm(add_model(team, server))
    wire.run_until(lambda: Search.objects.get().evaluations_spent >= 1)
    script.fault = Answer(fault=fault)
    wire.run()
    search.refresh_from_db()
    assert search.state == "paused"
    assert search.reason.startswith(f"scripted: {word}. ")
    assert KEY not in search.reason
    assert search.lease_owner == ""
    held = search.steps.get(state=StepState.ASKED)
    sent = len(server.seen)
    for _ in range(2):  # neither the sweeper nor a driver wakes it
        sweeper.sweep()
        driver.advance(search.pk)
        wire.run()
    assert len(server.seen) == sent
    script.fault = None
    controls.resume(search.pk)
    wire.run()
    search = check_invariants(search.pk)
    check_ledger(search)
    assert search.state == "finished"
    assert held.number in search.steps.filter(state=StepState.DONE).values_list("number", flat=True)
    assert search.steps.get(pk=held.pk).attempt == 2


def test_a_fault_during_a_pause_ends_in_the_pause(launch_llm, team, script, server, wire):
    """Somebody paused while the model was asked, and the model asks for an hour: the search is paused, not waiting."""
    search = launch_llm(add_model(team, server))
    driver.advance(search.pk)
    controls.pause(search.pk)
    script.fault = Answer(fault="rate_limited", argument="3600")
    wire.run()
    search.refresh_from_db()
    assert search.state == "paused"
    script.fault = None
    ModelEndpoint.objects.update(limited_until=None)
    controls.resume(search.pk)
    wire.run()
    assert check_invariants(search.pk).state == "finished"


def test_viewers_spend_nothing(launch_llm, team, server):
    team.memberships.update(role="viewer")
    with pytest.raises(LaunchError, match="viewers spend no money"):
        launch_llm(add_model(team, server))


def test_three_refusals_in_a_row_pause(launch_llm, team, script, server, wire):
    search = launch_llm(add_model(team, server))
    script.fault = Answer(fault="refusal")
    wire.run()
    search.refresh_from_db()
    assert search.state == "paused"
    assert "refused 3 calls in a row" in search.reason
    assert search.calls.filter(outcome="refused").count() == 3
    assert search.failed_count == 0  # they cost, and are no failures of candidates
    assert search.tokens_spent > 0
    script.fault = None
    controls.resume(search.pk)
    wire.run()
    assert check_invariants(search.pk).state == "finished"


def test_a_silent_provider_is_waited_for_longer_each_time_then_the_search_pauses(
    launch_llm, team, script, server, wire, monkeypatch
):
    monkeypatch.setattr(calls, "BudgetedCaller", partial(calls.BudgetedCaller, patience=Patience(attempts=1)))
    search = launch_llm(add_model(team, server))
    script.fault = Answer(fault="status", argument="503")
    waits = []
    for _ in range(5):
        wire.run()
        search.refresh_from_db()
        if search.state != "waiting":
            break
        waits.append(round((search.calls_until - timezone.now()).total_seconds(), -1))
        past = timezone.now() - timedelta(seconds=1)
        Search.objects.update(calls_until=past)
        Step.objects.filter(state=StepState.ASKED).update(lease_until=past)
        sweeper.sweep()
    assert waits == [60, 120, 240, 480]
    assert search.state == "paused"
    assert "unavailable after 5 tries" in search.reason


def test_a_disabled_or_changed_model_pauses(launch_llm, team, server, wire):
    row = add_model(team, server)
    search = launch_llm(row)
    ModelEndpoint.objects.update(is_disabled=True)
    wire.run()
    search.refresh_from_db()
    assert (search.state, search.reason) == ("paused", "model scripted was disabled or deleted")
    ModelEndpoint.objects.update(is_disabled=False, model="another")
    controls.resume(search.pk)
    wire.run()
    search.refresh_from_db()
    assert search.state == "paused"
    assert "another model than at launch" in search.reason
    assert not server.seen


def test_what_a_model_wrote_runs_in_a_sandbox_only(launch_llm, team, server, wire, device):
    row = add_model(team, server)
    search = launch_llm(row)
    device.sandbox = "unsandboxed"
    device.save()
    with pytest.raises(LaunchError, match="no sandbox"):
        launch_llm(row)
    wire.run()
    search.refresh_from_db()
    assert (search.state, search.wait_reason) == ("waiting", "device")
    assert not server.seen


def test_the_worker_is_told_what_needs_a_sandbox(launch_llm, launch, team, server, wire, device):
    mine = launch_llm(add_model(team, server))
    shipped = launch()
    wire.run_until(lambda: Search.objects.filter(evaluations__isnull=False).distinct().count() == 2)
    assert dispatch.request_of(mine.evaluations.first()).needs_walls
    assert not dispatch.request_of(shipped.evaluations.first()).needs_walls
    # The same workload from somebody's hand: its reference is a stranger's code.
    shipped.workload.team = team
    shipped.workload.save()
    assert dispatch.request_of(shipped.evaluations.first()).needs_walls
    device.sandbox = "unsandboxed"
    device.save()
    assert holds.wait_of(Search.objects.get(pk=shipped.pk)) == "device"


def test_a_cap_ends_calls_and_the_search_tunes_what_is_there(launch_llm, team, server, wire):
    search = launch_llm(add_model(team, server), budget=capped(12, tokens=22_000))
    wire.run()
    search = check_invariants(search.pk)
    check_ledger(search)
    assert search.calls_closed == "tokens"
    assert (search.state, search.evaluations_spent) == ("finished", 12)
    assert search.steps.order_by("number").last().kind == "variant"  # tuned without the model
    warned = texts(search, "search.budget")
    assert any(text.startswith("50% of the cap on tokens") for text in warned)
    assert any("no further calls: a call may need" in text for text in warned)
    assert len(server.seen) == search.calls.exclude(state=CallState.RELEASED).count()


def test_a_search_may_wait_at_its_cap_until_it_is_extended(launch_llm, team, server, wire, client, alice):
    search = launch_llm(add_model(team, server), budget=capped(8, tokens=22_000), at_cap=AtCap.WAIT)
    wire.run()
    search.refresh_from_db()
    assert (search.state, search.wait_reason) == ("waiting", "budget")
    sent = len(server.seen)
    sweeper.sweep()
    wire.run()
    assert len(server.seen) == sent
    client.force_login(alice)
    bad = client.post(f"/searches/{search.pk}/caps", {"tokens": "", "cost_usd": ""}, follow=True)
    assert "Keep a cap" in bad.content.decode()
    response = client.post(f"/searches/{search.pk}/caps", {"tokens": "400000", "cost_usd": ""})
    assert response.status_code == 303
    wire.run()
    search = check_invariants(search.pk)
    check_ledger(search)
    assert search.state == "finished"
    assert "alice moved the cap on tokens from 22,000 to 400,000" in texts(search, "search.budget")


def test_caps_move_for_members_only_and_not_after_the_end(
    launch_llm, team, server, wire, client, alice, charlie
):
    search = launch_llm(add_model(team, server), budget=capped(4))
    client.force_login(charlie)
    assert client.post(f"/searches/{search.pk}/caps", {"tokens": "1"}).status_code == 404
    client.force_login(alice)
    team.memberships.update(role="viewer")
    assert client.post(f"/searches/{search.pk}/caps", {"tokens": "1"}).status_code == 403
    team.memberships.update(role="member")
    # Lowered below what is spent: the next call is refused, nothing is taken back.
    wire.run_until(lambda: search.calls.filter(state=CallState.SETTLED).exists())
    client.post(f"/searches/{search.pk}/caps", {"tokens": "1"})
    sent = len(server.seen)
    wire.run()
    search.refresh_from_db()
    assert len(server.seen) == sent
    assert search.is_final
    client.post(f"/searches/{search.pk}/caps", {"tokens": "500000"})
    search.refresh_from_db()
    assert search.tokens_cap == 1


# The ledger alone -----------------------------------------------------------------------------------


def attempt_of(row, tokens=6000, usd=0.02, number=1):
    request = ModelRequest(role="coder", messages=(Message(role="user", content="?"),), turn=f"1/{number}")
    return Attempt(
        request=request,
        endpoint=row.name,
        host=row.host,
        model=row.model,
        output_limit=tokens // 2,
        ceiling_tokens=tokens,
        ceiling_usd=usd,
    )


@pytest.fixture
def meter_of(launch_llm, team, server):
    """A search with one step that an agent holds, and its meter."""

    def build(budget, **columns):
        row = add_model(team, server, concurrency=64, **columns)
        search = launch_llm(row, budget=budget)
        driver.advance(search.pk)
        search.steps.update(state=StepState.PROPOSING, attempt=1)
        step = search.steps.get()
        return row, search, ledger.StepMeter(search.pk, step.pk, 1, {row.name: row.pk})

    return build


@pytest.mark.parametrize(
    "budget", [capped(8, tokens=20_000), capped(8, tokens=None, cost_usd=0.07)], ids=["tokens", "money"]
)
def test_ten_calls_at_once_never_pass_a_cap(meter_of, budget):
    """F190: ten threads reserve at the same moment; three fit."""
    row, search, meter = meter_of(budget)
    start, got, refused = threading.Barrier(10), [], []

    def reserve(number):
        start.wait()
        try:
            got.append(meter.reserve(attempt_of(row, number=number)))
        except BudgetRefused as error:
            refused.append(error.axis)
        finally:
            connection.close()

    threads = [threading.Thread(target=reserve, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (len(got), len(refused)) == (3, 7)
    assert set(refused) == {"tokens" if budget.tokens else "cost"}
    search.refresh_from_db()
    check_ledger(search)
    # What is settled below its ceiling makes room; what is unknown does not.
    used = ModelReply(
        outcome=CallOutcome.OK, usage=TokenUsage(prompt_tokens=100, completion_tokens=50), cost_usd=0.0003
    )
    meter.settle(got[0], used)
    meter.unknown(got[1], ModelReply(outcome=CallOutcome.TIMEOUT, charge=Charge.CEILING))
    meter.reserve(attempt_of(row, number=11))
    with pytest.raises(BudgetRefused):
        meter.reserve(attempt_of(row, number=12))
    search.refresh_from_db()
    check_ledger(search)


def test_room_at_an_endpoint_is_counted_over_processes(meter_of, settings):
    settings.KERNELSITE = {"room_s": 0.2, "room_poll_s": 0.05}
    row, _, meter = meter_of(capped(8), requests_per_minute=2)
    meter.reserve(attempt_of(row))
    meter.reserve(attempt_of(row, number=2))
    with pytest.raises(ledger.CallStop, match="no room"):
        meter.reserve(attempt_of(row, number=3))
    ModelEndpoint.objects.update(requests_per_minute=None, concurrency=2)
    with pytest.raises(ledger.CallStop, match="no room"):
        meter.reserve(attempt_of(row, number=3))


def test_a_call_that_nobody_will_settle_ends_with_its_search(meter_of):
    """The agent's process died, and the search was stopped before anybody asked again."""
    row, search, meter = meter_of(capped(8))
    meter.reserve(attempt_of(row))
    controls.stop(search.pk)
    assert sweeper.sweep().expired_calls == 0  # it may still be on its way
    search.calls.update(reserved_at=timezone.now() - timedelta(hours=1))
    assert sweeper.sweep().expired_calls == 1
    search.refresh_from_db()
    assert search.calls.get().state == CallState.UNKNOWN
    assert search.tokens_spent == 6000
    check_ledger(search)


def test_an_overtaken_or_ended_step_sends_nothing(meter_of):
    row, search, meter = meter_of(capped(8))
    search.steps.update(attempt=2)
    with pytest.raises(ledger.StepLostError):
        meter.reserve(attempt_of(row))
    search.steps.update(attempt=1)
    controls.stop(search.pk)
    with pytest.raises(ledger.StepLostError):
        meter.reserve(attempt_of(row))
    assert not search.calls.exists()
    assert Search.objects.get(pk=search.pk).state == SearchState.STOPPED
