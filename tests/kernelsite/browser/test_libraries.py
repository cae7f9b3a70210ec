"""From a shipped library to a version of one's own, by hand, and without scripts."""

from __future__ import annotations

import re

import pytest
from test_shell import findings

pytestmark = pytest.mark.browser

PHONE = {"width": 390, "height": 844}


def test_fork_break_read_fix_publish_and_compare(open_page, artifacts):
    page = open_page("/libraries/")
    page.get_by_role("link", name="Fork core").click()
    page.get_by_label("Name").fill("by_hand")
    page.get_by_label("Title").fill("By hand")
    page.get_by_role("button", name="Make the draft").click()
    page.get_by_role("link", name=re.compile("online_softmax")).click()
    assert "softmax" in page.locator("#applies .chips").inner_text()
    text = page.get_by_label("YAML")
    sound = text.input_value()
    text.fill(sound.replace("family: reduction", "family: magic"))
    page.get_by_role("button", name="Save and check").click()
    problem = page.locator("#problems li")
    assert re.search(
        r"online_softmax\.yaml, line 3 · action online_softmax · field family", problem.inner_text()
    )
    assert "family: magic" in text.input_value()
    problem.get_by_role("link").click()
    assert page.evaluate("getSelection().toString()").strip() == "family: magic"
    assert findings(page) == []
    page.screenshot(path=artifacts / "library-problem.png", full_page=True)
    text.fill(sound.replace("title: Online", "title: Running"))
    page.get_by_role("button", name="Save and check").click()
    page.locator("#problems").wait_for(state="detached")
    page.get_by_role("link", name="Back to the draft").click()
    assert findings(page) == []
    page.get_by_role("button", name="Publish").click()
    page.get_by_role("link", name="Changes from core@1").click()
    changed = page.locator("#difference tbody tr")
    assert changed.count() == 1
    assert "Running maximum and sum" in changed.inner_text()
    assert findings(page) == []
    page.screenshot(path=artifacts / "library-diff.png", full_page=True)


def test_a_library_is_edited_on_a_phone_without_scripts(open_page):
    page = open_page("/libraries/core/v/1/fork/", PHONE, java_script_enabled=False)
    page.get_by_label("Name").fill("on_a_phone")
    page.get_by_role("button", name="Make the draft").click()
    page.get_by_role("link", name="00_library.yaml").click()
    text = page.get_by_label("YAML")
    text.fill(text.input_value().replace("name: on_a_phone", "name: another"))
    page.get_by_role("button", name="Save and check").click()
    assert "field name: must be on_a_phone" in page.locator("#problems").inner_text()
    for address in (
        page.url,
        "/libraries/",
        "/libraries/core/v/1/statistics/",
        "/libraries/drafts/on_a_phone/",
    ):
        page.goto(address)
        assert page.locator("main").bounding_box()["width"] <= PHONE["width"], address
