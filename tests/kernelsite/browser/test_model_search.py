"""A model from its settings page to a finished search, in a real browser, on the CPU device."""

from __future__ import annotations

import time

import pytest

from tests.fakes import scripted_kernels
from tests.fakes.model_server import Answer, ModelServer

pytestmark = [pytest.mark.browser, pytest.mark.slow]

KEY = "sk-canary-of-the-browser-0123456789"
LIMIT_S = 120.0


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
    page.get_by_label("Evaluations").fill("6")
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
    page.goto(f"/searches/{number}/calls/")
    rows = page.locator("table").last.locator("tbody tr")
    assert rows.count() == len([each for each in server.seen if "the one word: ready" not in each.prompt])
    assert {"planner", "coder"} <= set(rows.locator("th").all_inner_texts())
    page.screenshot(path=artifacts / "model-calls.png", full_page=True)
    rows.locator("td a").first.click()
    page.locator(".call").first.locator("summary").first.click()
    assert page.get_by_text("The model's words; nothing in them decides anything.").first.is_visible()
    page.screenshot(path=artifacts / "model-transcript.png", full_page=True)


def finished(page, number):
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        search = page.request.get(f"/searches/{number}/snapshot.json").json()["search"]
        if search["state"] in {"finished", "failed", "paused", "stopped"}:
            return search
        page.wait_for_timeout(500)
    raise AssertionError(f"still {search['state']}: {search['reason']}")
