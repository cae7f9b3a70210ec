"""A workload by hand: from an empty page, over its mistakes and its validation, to a finished search on it."""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import expect
from test_shell import findings

from tests.kernelsite.workload_texts import REFERENCE, SOFTMAX

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PHONE = {"width": 390, "height": 844}
PATIENCE_MS = 120_000


def test_softmax_from_an_empty_page_to_a_finished_search(open_page, artifacts, site):
    page = open_page("/workloads/")
    page.get_by_role("link", name="New workload").click()
    page.get_by_label("Name").fill("by_hand")
    page.get_by_label("Title").fill("Softmax by hand")
    page.get_by_role("button", name="Make the draft").click()
    definition, reference = (page.get_by_label(name, exact=True) for name in ("Definition", "Reference"))
    problems = page.locator("#problems li")
    assert problems.filter(has_text="cases.0.axes.M").count() == 1, "an empty draft says what it lacks"

    # The server checks while somebody writes; nothing is saved by that.
    definition.fill(SOFTMAX.replace("M: 64", "M: -64"))
    reference.fill(REFERENCE)
    expect(problems).to_have_count(1)
    expect(problems).to_contain_text(re.compile(r"definition, line 14 · cases\.0\.axes\.M"))
    problems.get_by_role("link").click()
    assert "M: -64" in page.evaluate("getSelection().toString()")
    assert findings(page) == []
    page.screenshot(path=artifacts / "workload-problem.png", full_page=True)
    definition.fill(SOFTMAX)
    expect(page.locator("#check")).to_contain_text("sound")

    page.get_by_role("button", name="Publish").click()
    page.wait_for_url("**/workloads/by_hand/v/1/")
    state = page.locator("#validation > header .pill")
    expect(state).to_have_text(re.compile("passed|failed|cancelled"), timeout=PATIENCE_MS)
    assert state.inner_text() == "passed", page.locator("#validation").inner_text()
    expect(page.locator("#validation .figure")).to_have_text(re.compile(r"(\d+) of \1"))
    assert findings(page) == []
    page.screenshot(path=artifacts / "workload-version.png", full_page=True)

    page.get_by_role("link", name="Launch search").click()
    assert page.get_by_label("Workload").locator("option:checked").inner_text().startswith("Softmax of rows")
    page.get_by_label("Evaluations").fill("4")
    page.get_by_role("button", name="Launch").click()
    page.wait_for_url("**/searches/*/")
    finished(page, int(page.url.rstrip("/").rsplit("/", 1)[1]))


def finished(page, number):
    """Waits for the search's end, as the server tells it."""
    deadline = time.monotonic() + PATIENCE_MS / 1000
    while time.monotonic() < deadline:
        row = page.request.get(f"/searches/{number}/snapshot.json").json()["search"]
        if row["state"] in ("finished", "failed", "stopped"):
            break
        page.wait_for_timeout(500)
    assert row["state"] == "finished", row


def test_a_draft_is_written_on_a_phone_without_scripts(open_page):
    page = open_page("/workloads/softmax/v/1/fork/", PHONE, java_script_enabled=False)
    page.get_by_label("Name").fill("on_a_phone")
    page.get_by_role("button", name="Make the draft").click()
    text = page.get_by_label("Definition", exact=True)
    text.fill(text.input_value().replace("op_type: softmax", "op_type: 5"))
    page.get_by_role("button", name="Save").click()
    assert "op_type" in page.locator("#problems").inner_text()
    assert "op_type: 5" in page.get_by_label("Definition", exact=True).input_value()
    for address in (
        page.url,
        "/workloads/",
        "/workloads/softmax/v/1/",
        "/workloads/diff/?old=softmax@1&new=rmsnorm@1",
    ):
        page.goto(address)
        assert page.locator("main").bounding_box()["width"] <= PHONE["width"], address
