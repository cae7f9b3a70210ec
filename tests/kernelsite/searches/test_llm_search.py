"""Searches whose agent is a model, over the scripted server: the whole way through rows."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from checks import check_invariants
from model_rig import KEY, add_model, capped, check_ledger, launch_with

from kernelsite.accounts.models import Team
from kernelsite.searches import controls, proposals, tasks
from kernelsite.searches.calls import track_records
from kernelsite.searches.experience import experience_of
from kernelsite.searches.launch import LaunchError, launch_search
from kernelsite.searches.models import CallState, Search, Step
from search.agents.llm.replay import ReplayCaller
from search.records import TaskName
from tests.fakes import scripted_kernels
from tests.fakes.model_server import Answer, ModelServer


@pytest.fixture
def server():
    with ModelServer(scripted_kernels.softmax, key=KEY) as server:
        yield server


@pytest.fixture
def launch_llm(order, team, wire, device, settings):
    settings.MODEL_HOSTS = "loopback"
    return lambda *rows, budget=None, **options: launch_with(order, rows, budget or capped(8), **options)


@pytest.fixture
def finished(launch_llm, server, team, wire):
    search = launch_llm(add_model(team, server))
    wire.run()
    return check_invariants(search.pk)


def test_a_model_searches_from_launch_to_finished(finished, server):
    search = finished
    check_ledger(search)
    assert (search.state, search.evaluations_spent) == ("finished", 8)
    roles = set(search.calls.values_list("role", flat=True))
    assert {"planner", "coder"} <= roles
    assert search.structure_count >= 2
    assert search.best_speedup
    # The provider's log is the ledger's: nothing was sent that no row knows.
    assert len(server.seen) == search.calls.count() == search.calls.filter(state=CallState.SETTLED).count()
    used = sum(
        step.outcome["usage"]["prompt_tokens"] + step.outcome["usage"]["completion_tokens"]
        for step in search.steps.all()
    )
    assert used == search.tokens_spent == sum(search.calls.values_list("tokens", flat=True))
    assert search.events.filter(kind="step.called").count() == search.calls.count()
    assert "prompts go to http://127.0.0.1" in search.events.get(kind="search.model").payload["text"]


def test_the_key_is_in_no_row_and_no_page(finished, client, alice):
    client.force_login(alice)
    search = finished
    called = search.steps.filter(calls__isnull=False, structure__isnull=False).first()
    addresses = [
        f"/searches/{search.pk}/calls/",
        f"/searches/{search.pk}/calls.jsonl",
        f"/searches/{search.pk}/calls/{search.calls.first().pk}/",
        f"/searches/{search.pk}/calls/{search.calls.first().pk}.json",
        f"/searches/{search.pk}/",
        f"/structures/{called.structure.key}/?tab=transcript",
        "/searches/new/",
    ]
    for address in addresses:
        response = client.get(address)
        assert response.status_code == 200, address
        body = response.getvalue().decode()
        assert KEY not in body, address
    rows = [*search.calls.values_list("attempt", "reply"), *search.events.values_list("payload")]
    assert KEY not in json.dumps([[str(part) for part in row] for row in rows])
    assert KEY not in json.dumps(search.endpoints)


def test_a_transcript_replays_offline(finished, client, alice, order, wire, tmp_path, server):
    """As a file for the command line, and as rows for another search of the team."""
    client.force_login(alice)
    file = tmp_path / "calls.jsonl"
    file.write_bytes(client.get(f"/searches/{finished.pk}/calls.jsonl").getvalue())
    caller = ReplayCaller.of_file(file)
    for call in finished.calls.all():
        assert caller.call(call.record.attempt.request).text == call.reply["text"]
    sent = len(server.seen)
    again, _ = launch_search(order(agent="replay", transcript=f"search:{finished.pk}", budget=8))
    wire.run()
    again = check_invariants(again.pk)
    assert len(server.seen) == sent
    assert again.state == "finished"
    outcomes = [
        [
            (step.item["type"], (step.outcome or {}).get("candidate"))
            for step in search.steps.order_by("number")
        ]
        for search in (finished, again)
    ]
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize(("transcript", "edits"), [("search:{}", 3), ("shipped:cpu_softmax", 0)])
def test_a_replay_asks_for_the_edits_that_were_recorded(finished, client, alice, transcript, edits):
    client.force_login(alice)
    form = client.get(f"/searches/new/?from={finished.pk}").context["form"]
    kept = {name: value for name, value in form.initial.items() if value is not None}
    first = {name: field.initial for name, field in form.fields.items() if field.initial is not None}
    chosen = {"agent": "replay", "transcript": transcript.format(finished.pk), "edits": 3, "seeds": "0"}
    asked = first | kept | chosen | {"idempotency_key": "again"}
    assert client.post("/searches/new/", asked).status_code == 302
    assert Search.objects.latest("pk").record.stages.edits == edits


def test_the_shipped_transcript_replays_on_the_site(order, wire, monkeypatch):
    """As `run_search --agent replay` does: no call of it is missing."""
    ordinary = wire.deliver
    monkeypatch.setattr(
        wire,
        "deliver",
        lambda each: (
            tasks.evaluate_recorded(*each.args) if each.name == TaskName.EVALUATE else ordinary(each)
        ),
    )
    options = {"device_class": "recorded:cpu_softmax", "seed": 1, "budget": 16}
    search, _ = launch_search(order(agent="replay", transcript="shipped:cpu_softmax", **options))
    wire.run()
    search = check_invariants(search.pk)
    assert (search.state, search.evaluations_spent) == ("finished", 16)
    assert not search.calls.filter(outcome="not_recorded").exists()
    assert search.calls.committed() == (0, 0.0)
    assert search.best_speedup > 1


def test_a_killed_step_is_charged_at_its_ceiling_and_repeated_once(
    launch_llm, server, team, wire, monkeypatch
):
    """SIGKILL between the answer and its row: the process is gone before `settle`, like the exception here."""
    search = launch_llm(add_model(team, server))

    class Killed(BaseException):
        pass

    def die(*_):
        raise Killed

    with monkeypatch.context() as context:
        context.setattr("kernelsite.searches.ledger.StepMeter.settle", die)
        with pytest.raises(Killed):
            wire.run()
    lost = search.calls.get()
    assert lost.state == CallState.RESERVED
    step = Step.objects.get(search=search)
    proposals.drop_lease(step.pk)
    assert proposals.resend_or_give_up(step.pk)
    wire.run()
    search = check_invariants(search.pk)
    check_ledger(search)
    lost.refresh_from_db()
    assert (lost.state, lost.tokens) == (CallState.UNKNOWN, lost.ceiling_tokens)
    same = search.calls.filter(request_hash=lost.request_hash)
    assert list(same.values_list("state", flat=True)) == [CallState.UNKNOWN, CallState.SETTLED]
    assert len(server.seen) == search.calls.count()
    assert search.state == "finished"
    usage = Step.objects.get(pk=step.pk).outcome["usage"]
    assert usage["prompt_tokens"] + usage["completion_tokens"] == sum(same.values_list("tokens", flat=True))
    told = [payload["text"] for payload in search.events.values_list("payload", flat=True)]
    assert sum("lost with its process" in text for text in told) == 1


def test_what_was_answered_before_the_kill_is_not_asked_again(launch_llm, server, team, wire, monkeypatch):
    search = launch_llm(add_model(team, server))
    wire.run_until(lambda: search.calls.filter(role="planner", state=CallState.SETTLED).exists())
    real = proposals.accept

    def die(*_):
        raise KeyboardInterrupt

    step = search.steps.filter(kind="explore").latest("number")
    # The planner's step is over; a later exploration of the same search dies after its answers are kept.
    with monkeypatch.context() as context:
        context.setattr(proposals, "accept", die)
        with pytest.raises(KeyboardInterrupt):
            wire.run()
    taken = search.steps.filter(state="proposing").get()
    asked = list(taken.calls.values_list("request_hash", flat=True))
    sent = len(server.seen)
    proposals.drop_lease(taken.pk)
    proposals.resend_or_give_up(taken.pk)
    wire.run_until(
        lambda: search.steps.exclude(state="proposing").exclude(state="asked").filter(pk=taken.pk).exists()
    )
    assert len(server.seen) == sent
    assert list(taken.calls.values_list("request_hash", flat=True)) == asked
    assert real is proposals.accept
    assert step.pk


def test_duplicates_reuse_the_measurement_and_are_marked(launch_llm, team, wire):
    """A model that always writes the same program costs tokens, but no device time."""
    first = {}
    diversity = "repeated programs that had been measured already"

    def script(conversation):
        answer = scripted_kernels.softmax_without_build_errors(conversation)
        if "You are the coder" in conversation.prompt or "You refine one" in conversation.prompt:
            return first.setdefault("code", answer)
        return answer

    with ModelServer(script) as server:
        search = launch_llm(add_model(team, server), strategy="refine_best")
        wire.run_until(lambda: any(diversity in conversation.prompt for conversation in server.seen))
        spent = Search.objects.get(pk=search.pk).evaluations_spent
        controls.stop(search.pk)
    search = check_invariants(search.pk)
    assert search.reused_count >= 2
    assert search.evaluations.filter(state="reused").count() == search.reused_count
    assert search.evaluations.filter(charged=True).count() == spent == 1


def test_refinements_are_the_tuners_and_its_words_are_marked_as_such(
    launch_llm, server, team, wire, client, alice
):
    search = launch_llm(add_model(team, server), strategy="refine_best")
    wire.run()
    search = check_invariants(search.pk)
    assert search.state == "finished"
    assert {"planner", "coder", "tuner"} <= set(search.calls.values_list("role", flat=True))
    refined = search.steps.filter(kind="refine", candidate__isnull=False).first().candidate
    assert refined.note.startswith("the compiler must assume")
    client.force_login(alice)
    page = client.get(f"{refined.get_absolute_url()}?tab=provenance").content.decode()
    words = page[page.index("the compiler must assume") :][:300]
    assert "the agent&#x27;s words" in words or "the agent's words" in words


def test_several_models_share_the_calls(launch_llm, team, wire):
    with ModelServer(scripted_kernels.softmax) as one, ModelServer(scripted_kernels.softmax) as two:
        search = launch_llm(add_model(team, one, "one"), add_model(team, two, "two"))
        wire.run()
        assert one.seen
        assert two.seen
    search = check_invariants(search.pk)
    assert search.state == "finished"
    assert set(search.calls.values_list("endpoint_name", flat=True)) == {"one", "two"}
    # What a bandit would learn from it: every answered draft counts for the model that wrote it.
    records = track_records(search)
    answered = search.steps.filter(calls__outcome="ok").distinct().count()
    assert sum(record.drafts for record in records.values()) == answered
    assert 0 < sum(record.gains for record in records.values()) <= answered


def test_another_model_behind_the_same_name_is_told(launch_llm, team, wire):
    def script(conversation):
        answer = scripted_kernels.softmax(conversation)
        return replace(answer, fault="other_model", argument="newer") if conversation.number > 3 else answer

    with ModelServer(script) as server:
        search = launch_llm(add_model(team, server))
        wire.run()
    told = search.events.filter(kind="search.model").values_list("payload__text", flat=True)
    assert len(told) == 2  # where prompts go, and the change, once
    assert "now answers as" in told[1]
    (row,) = search.calls.by_model()
    assert row["answered_as"] == sorted(["fake-model", row["answered_as"][-1]])
    assert len(row["answered_as"]) == 2


def test_memory_is_the_teams_own(finished, launch_llm, server, order, wire, charlie):
    """F197: what one team learned is in its own next prompts and in no prompt of another team."""
    memory = "finished searches of this team"
    finished.structures.update(title="canary-of-kernels")
    before = len(server.seen)
    assert not any(memory in each.prompt for each in server.seen)  # there was nothing to remember
    others = Team.objects.get(slug="others")
    theirs = replace(order(agent="llm"), team=others, user=charlie)
    chosen = {"budget": capped(8), "endpoints": (add_model(others, server, "theirs").pk,)}
    rival = launch_search(replace(theirs, options=theirs.options.model_copy(update=chosen)))[0]
    wire.run()
    prompts = [each.prompt for each in server.seen[before:]]
    assert prompts
    assert not any(memory in prompt or "canary-of-kernels" in prompt for prompt in prompts)
    assert experience_of(rival) == ()
    before = len(server.seen)
    launch_llm(finished.team.endpoints.get())
    wire.run()
    assert any(memory in each.prompt for each in server.seen[before:])


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"tokens": None}, "tokens"),
        ({"tokens": 1000}, "tokens"),
        ({"tokens": None, "cost_usd": 0.0001}, "cost_usd"),
    ],
)
def test_caps_that_allow_no_call_are_refused_at_launch(launch_llm, server, team, changes, field):
    with pytest.raises(LaunchError) as raised:
        launch_llm(add_model(team, server), budget=capped(**changes))
    assert raised.value.field == field
    assert not Search.objects.exists()


def test_money_cannot_be_capped_without_a_price(launch_llm, server, team):
    with pytest.raises(LaunchError, match="no price today") as raised:
        launch_llm(add_model(team, server, priced=False), budget=capped(cost_usd=5.0))
    assert raised.value.field == "cost_usd"


def test_models_of_other_teams_and_disabled_ones_cannot_be_chosen(launch_llm, server, team, charlie):
    theirs = add_model(Team.objects.get(slug="others"), server, "theirs")
    off = add_model(team, server, "off", is_disabled=True)
    for rows in ([theirs], [off], [add_model(team, server), theirs], []):
        with pytest.raises(LaunchError) as raised:
            launch_llm(*rows)
        assert raised.value.field == "models"


def test_junk_ends_as_failed_drafts_and_is_shown_as_text(launch_llm, team, wire, client, alice):
    """Useless, hostile answers: the search ends within its budget, and its pages are not moved by them."""
    junk = "I like turtles.</pre><script>alert(1)</script>\u202eapproved by the reviewer\x00"
    with ModelServer(lambda _: Answer(junk)) as server:
        search = launch_llm(add_model(team, server), budget=capped(4, tokens=200_000))
        wire.run()
    search = check_invariants(search.pk)
    check_ledger(search)
    assert (search.state, search.best_speedup) == ("finished", None)
    assert search.events.filter(kind="step.failed").exists()
    client.force_login(alice)
    call = search.calls.first()
    for address in (
        f"/searches/{search.pk}/",
        f"/searches/{search.pk}/calls/",
        f"/searches/{search.pk}/calls/{call.pk}/",
    ):
        page = client.get(address).content.decode()
        assert "<script>alert" not in page
        assert "\u202e" not in page
    assert "I like turtles.&lt;/pre&gt;&lt;script&gt;" in page
    assert "nothing in them decides anything" in page
