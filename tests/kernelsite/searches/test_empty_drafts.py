"""Replies of no use: counted by cause, with one sample and its call, and explained in words."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from checks import check_invariants
from model_rig import KEY, add_model, capped, check_ledger, launch_with

from kernelsite.searches import drafts, snapshot
from search.steps import DraftFailure
from tests.fakes import scripted_kernels
from tests.fakes.model_server import Answer, ModelServer

PROSE = "Sure! A softmax kernel is a function that computes the softmax of a row."
USELESS = {
    "prose": (Answer(PROSE), {DraftFailure.NO_PROGRAM, DraftFailure.UNREADABLE}),
    "cut off": (Answer(PROSE, fault="length"), {DraftFailure.TRUNCATED}),
    "no text": (Answer("", fault="null_content"), {DraftFailure.EMPTY}),
}
"""What a useless model answers to everything, and what becomes of it: coders and planners fail in ways of their own."""


@pytest.fixture
def search_with(order, team, wire, device, settings):
    """Runs a search whose model answers by a script."""
    settings.MODEL_HOSTS = "loopback"

    def run(script, **budget):
        with ModelServer(script, key=KEY) as server:
            search = launch_with(order, [add_model(team, server)], capped(6, **budget))
            wire.run()
        search.refresh_from_db()
        return check_invariants(search.pk)

    return run


@pytest.mark.parametrize(("answer", "causes"), USELESS.values(), ids=USELESS)
def test_a_useless_reply_is_counted_by_its_cause(search_with, answer, causes):
    search = search_with(lambda _: answer)
    check_ledger(search)
    rows = drafts.failed_drafts(search)
    assert {row["cause"] for row in rows} == causes
    assert len(rows) == search.steps.count() == search.events.filter(kind="step.failed").count()
    assert sum(bool(row["text"]) for row in rows) == len(causes)
    for row in rows:
        assert search.calls.get(pk=row["call"]).step.number == row["step"]


@pytest.mark.parametrize(
    ("plan", "cause"),
    [
        ("I would use shared memory.", DraftFailure.UNREADABLE),
        ('{"structures": [{"actions": ["warp_drive"]}]}', DraftFailure.IMPOSSIBLE),
        ('{"structures": []}', DraftFailure.NOTHING_LEFT),
    ],
)
def test_a_planner_without_a_plan_says_which_way(search_with, plan, cause):
    def script(conversation):
        return (
            Answer(plan)
            if "You are the planner" in conversation.prompt
            else scripted_kernels.softmax(conversation)
        )

    search = search_with(script)
    assert cause in {row["cause"] for row in drafts.failed_drafts(search)}


def test_the_page_explains_a_useless_model(search_with, client, alice):
    search = search_with(lambda _: Answer(PROSE))
    client.force_login(alice)
    page = client.get(f"/searches/{search.pk}/").content.decode()
    count = search.steps.count()
    assert f"No draft brought a program that could be judged; {count} drafts failed" in page
    assert "no program in the reply (4)" in page
    assert drafts.WORDS[DraftFailure.NO_PROGRAM].advice.split(".")[0] in page
    assert f"data-failure-count>{count}<" in page
    call = drafts.failed_drafts(search)[0]["call"]
    assert page.count(f'href="/searches/{search.pk}/calls/{call}/"') == 3  # the note, the sample, its chip
    assert PROSE in client.get(f"/searches/{search.pk}/calls/{call}/").content.decode()
    direct = search.structures.get()
    told = client.get(f"{direct.get_absolute_url()}?tab=transcript").content.decode()
    assert told.count("no program</span>") == 4
    assert PROSE in told


def test_later_prompts_name_the_structure_that_failed(search_with):
    prompts = []

    def script(conversation):
        prompts.append(conversation.prompt)
        return Answer(PROSE)

    search = search_with(script)
    title = search.structures.get().title
    assert f"- {title}: never right after 4 trials; last no program" in prompts[-1]


def test_a_browser_that_watched_knows_what_a_new_page_knows(search_with):
    """Rows of the snapshot and of the events are the same, but for texts that the snapshot leaves out."""
    search = search_with(lambda _: Answer(PROSE))
    told = [
        row["draft"] for row in search.events.filter(kind="step.failed").values_list("payload", flat=True)
    ]
    shown = snapshot.take(search.pk)["drafts"]
    assert [{**row, "text": ""} for row in told] == [{**row, "text": ""} for row in shown]
    assert [row for row in shown if row["text"]] == [told[0], told[4]]


def test_hidden_signs_of_a_reply_are_written_out(search_with):
    search = search_with(lambda _: Answer('{"structures": [{"actions": ["\u202eevil\u0007"]}]}'))
    texts = [row["text"] for row in drafts.failed_drafts(search)]
    assert not any("\u202e" in text or "\x07" in text for text in texts)


def test_nothing_left_is_no_fault_and_a_search_with_results_needs_no_words(search_with):
    search = search_with(scripted_kernels.softmax)
    document = snapshot.take(search.pk)
    assert document["search"]["counts"]["passed"]
    assert drafts.explanation(document["search"], document["drafts"], document["candidates"]) is None


def row(cause, step=1, call=None):
    return {"step": step, "kind": "explore", "cause": cause, "text": "", "structure": None, "call": call}


def state(word, passed=0):
    return {"state": word, "counts": {"passed": passed}}


def test_a_running_search_waits_with_its_words_until_a_few_failed():
    rows = [row(DraftFailure.REFUSED, 1), row(DraftFailure.EMPTY, 2), row(DraftFailure.NOTHING_LEFT, 3)]
    assert drafts.explanation(state("running"), rows, []) is None
    told = drafts.explanation(state("finished"), rows, [{"status": "TIMEOUT"}, {"status": None}])
    assert (
        told["what"]
        == "No program passed: 1 judged, and 2 drafts brought none: refused (1), no text in the reply (1)."
    )
    told = drafts.explanation(state("running"), [*rows, row(DraftFailure.EMPTY, 4, 7)], [])
    assert (told["call"], told["how"]) == (7, drafts.WORDS[DraftFailure.EMPTY].advice)
    assert drafts.explanation(state("finished", passed=1), rows, []) is None


def test_groups_put_faults_first_and_know_words_of_another_version():
    rows = [row(DraftFailure.NOTHING_LEFT, 1), row(DraftFailure.NOTHING_LEFT, 2), row("of_tomorrow", 3)]
    assert [(group["title"], group["is_quiet"]) for group in drafts.groups(rows)] == [
        ("of tomorrow", False),
        ("nothing left to try", True),
    ]


def test_every_cause_has_words_and_scripts_know_which_are_quiet():
    assert set(drafts.WORDS) == set(DraftFailure)
    script = (Path(__file__).parents[3] / "static/js/drafts.js").read_text()
    quiet = json.loads(re.search(r"QUIET = new Set\((\[.*?\])\)", script)[1])
    assert quiet == list(drafts.QUIET)
    assert f"TOLD_FROM = {drafts.TOLD_FROM};" in script
