"""A model from its settings page to a finished search, in a real browser, on the CPU device."""

from __future__ import annotations

import time

import pytest

from tests.fakes import scripted_kernels
from tests.fakes.model_server import Answer, ModelServer

pytestmark = [pytest.mark.browser, pytest.mark.slow]

KEY = "sk-canary-of-the-browser-0123456789"
LIMIT_S = 240.0
PHONE = {"width": 390, "height": 844}


def script(conversation):
    if "the one word: ready" in conversation.prompt:  # the connection's test
        return Answer("ready")
    return scripted_kernels.softmax(conversation)


@pytest.fixture(scope="module")
def server():
    with ModelServer(script, key=KEY) as server:
        yield server


def test_a_model_is_added_tested_and_searches(open_page, server, artifacts, complaints):
    page = open_page("/settings/models/new/")
    page.get_by_label("Name").fill("scripted")
    page.get_by_label("Model", exact=True).fill("fake-model")
    page.get_by_label("Address").fill(server.url)
    page.get_by_label("Key", exact=True).fill(KEY)
    page.get_by_label("Input, USD").fill("1.25")
    page.get_by_label("Output, USD").fill("10")
    page.get_by_role("button", name="Add the model").click()
    page.get_by_role("button", name="Test connection").click()
    page.locator("#test-result").get_by_text("It answers").wait_for()
    assert KEY not in page.content()

    page.goto("/searches/new/?workload=softmax")
    assert page.get_by_label("Tokens").is_hidden()  # the playbook spends none
    page.locator("label", has_text="plans structures").click()
    page.locator("label", has_text="prompts go to").click()
    page.get_by_label("Evaluations").fill("14")
    page.get_by_label("Tokens").fill("9000")
    page.get_by_role("button", name="Launch").click()
    page.get_by_text("the cap is below it").first.wait_for()  # below one call: nothing was launched
    complaints.forgive("status of 422")
    page.get_by_label("Tokens").fill("300000")
    page.locator("[data-summary=calls]").get_by_text("at most 300,000 tokens").wait_for()
    page.screenshot(path=artifacts / "model-launch.png", full_page=True)
    page.get_by_role("button", name="Launch").click()
    page.wait_for_url("**/searches/*/")
    number = int(page.url.rstrip("/").rsplit("/", 1)[1])

    search = finished(page, number)
    assert search["state"] == "finished", search["reason"]
    assert search["budget"]["tokens"]["spent"] > 0
    assert search["best"]
    # Planner, coder, repair after a compile error, a broken contract said back, then knobs of the kept structures.
    rows = page.request.get(f"/searches/{number}/snapshot.json").json()["candidates"]
    assert {"COMPILE_ERROR", "PASSED"} <= {row["status"] for row in rows}
    assert [
        row for row in rows if (row["stage"], row["kind"], row["status"]) == ("tune", "variant", "PASSED")
    ]
    assert [each for each in server.seen if "is not the structure that was asked for" in each.prompt]
    its_calls_are_read(page, number, server, artifacts)


def its_calls_are_read(page, number, server, artifacts):
    page.goto(f"/searches/{number}/calls/")
    rows = page.locator("table").last.locator("tbody tr")
    assert rows.count() == len([each for each in server.seen if "the one word: ready" not in each.prompt])
    assert {"planner", "coder", "repairer", "tuner"} <= set(rows.locator("th").all_inner_texts())
    page.screenshot(path=artifacts / "model-calls.png", full_page=True)
    rows.locator("td a").first.click()
    page.locator(".call").first.locator("summary").first.click()
    assert page.get_by_text("The model's words; nothing in them decides anything.").first.is_visible()
    page.screenshot(path=artifacts / "model-transcript.png", full_page=True)


def test_a_model_of_no_use_is_explained_while_it_searches_and_afterwards(open_page, artifacts):
    """Six replies of prose: the page that watched and one that is opened later say the same."""
    prose = "Sure! A softmax kernel computes the softmax of a row. First we"
    with ModelServer(lambda _: Answer(prose, fault="length"), key=KEY) as server:
        page = open_page("/settings/models/new/")
        page.get_by_label("Name").fill("useless")
        page.get_by_label("Model", exact=True).fill("fake-model")
        page.get_by_label("Address").fill(server.url)
        page.get_by_label("Key", exact=True).fill(KEY)
        page.get_by_role("button", name="Add the model").click()
        page.goto("/searches/new/?workload=softmax")
        page.locator("label", has_text="plans structures").click()
        page.locator("label", has_text="useless").click()
        page.get_by_label("Evaluations").fill("6")
        page.get_by_label("Tokens").fill("300000")
        page.get_by_role("button", name="Launch").click()
        page.wait_for_url("**/searches/*/")
        number = int(page.url.rstrip("/").rsplit("/", 1)[1])
        search = finished(page, number)
    assert (search["state"], search["best"]) == ("finished", None), search["reason"]
    page.locator("[data-explanation]").get_by_text("reply cut off at its length limit (").wait_for()
    watched = said(page)
    page.screenshot(path=artifacts / "useless-watched.png", full_page=True)
    page.reload()
    assert said(page) == watched
    page.get_by_role("tab", name="Failures").click()
    drafts = len(page.request.get(f"/searches/{number}/snapshot.json").json()["drafts"])
    assert page.locator("[data-failure-count]").inner_text() == str(drafts) != "0"
    page.screenshot(path=artifacts / "useless-failures.png", full_page=True)
    page.locator("[data-failures] a").first.click()
    assert page.get_by_text(prose).first.is_visible()
    phone = open_page(f"/searches/{number}/#panel-failures", PHONE)
    phone.locator("[data-explanation]").wait_for()
    phone.screenshot(path=artifacts / "useless-phone.png", full_page=True)


def said(page):
    note = page.locator("[data-explanation]")
    return note.inner_text(), note.locator("a").get_attribute("href"), page.locator(".counts").inner_text()


def finished(page, number):
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        search = page.request.get(f"/searches/{number}/snapshot.json").json()["search"]
        if search["state"] in {"finished", "failed", "paused", "stopped"}:
            return search
        page.wait_for_timeout(500)
    raise AssertionError(f"still {search['state']}: {search['reason']}")
