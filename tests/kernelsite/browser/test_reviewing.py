"""A search is gated and goes on; its kernel is reviewed by two people, released, and judged again by hand."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from playwright.sync_api import expect
from test_shell import findings

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[3]
DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
DEVICE_S = 120_000
"""Milliseconds that a device may take for what a test waits for, on two busy cores."""


@pytest.fixture(scope="module")
def rita(site):
    """A reviewer of the team; her password."""
    password = "rita reviews kernels"
    script = Path(__file__).with_name("people_in_site.py")
    environment = {**os.environ, "KERNELSITE_VAR": str(site.folder)}
    subprocess.run([sys.executable, script, "rita", "reviewer", password], check=True, env=environment)
    return password


@pytest.fixture
def as_rita(site, browser, rita, complaints):
    """Her browser."""
    context = browser.new_context(viewport=DESKTOP, base_url=site.url)
    page = context.new_page()
    complaints.listen(page)
    page.goto("/accounts/login/")
    page.get_by_label("Username").fill("rita")
    page.get_by_label("Password").fill(rita)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(f"{site.url}/")
    yield page
    context.close()


@pytest.fixture(scope="module")
def gated():
    """Address of the search that the first test takes through its gate."""
    return {}


def test_a_search_waits_at_its_gate_and_goes_on(open_page, as_rita, gated, artifacts, complaints):
    page = open_page("/searches/new/?workload=softmax", DESKTOP)
    page.get_by_label("Evaluations").fill("14")
    page.get_by_label("Review gate").check()
    page.get_by_role("button", name="Launch").click()
    page.wait_for_url("**/searches/*/")
    gated["search"] = page.url
    decide = page.get_by_role("link", name="Decide which structures go on")
    decide.wait_for(timeout=DEVICE_S)
    assert "waiting: review" in page.locator("[data-state]").inner_text()
    as_rita.goto("/")
    as_rita.get_by_role("link", name=re.compile("Reviews")).first.click()
    as_rita.get_by_role("link", name=re.compile("Next")).click()
    as_rita.wait_for_url("**/gate/")
    assert findings(as_rita) == []
    as_rita.screenshot(path=artifacts / "gate.png", full_page=True)
    send(as_rita, as_rita.get_by_role("button", name="Decide"))
    assert "say why" in as_rita.get_by_role("alert").inner_text()
    complaints.forgive("422")  # what the form lacked
    as_rita.get_by_label("Reason for every verdict").fill("the fastest two differ enough")
    as_rita.get_by_role("button", name="Decide").click()
    as_rita.wait_for_url(re.compile(r"/searches/\d+/$"))
    expect(page.locator("[data-state]")).to_have_text("finished", timeout=DEVICE_S)
    assert decide.is_hidden()
    as_rita.goto(f"{gated['search']}gate/")
    assert "the fastest two differ enough" in as_rita.locator("main").inner_text()


def send(page, button):
    """Press it and wait for the page that answers."""
    with page.expect_navigation():
        button.click()


def wait_for_green(page, name):
    """Reload until a gate is green; what a busy machine timed badly is asked for again, as a person would."""
    deadline = time.monotonic() + 2 * DEVICE_S / 1000
    gate = page.locator("#gates li", has=page.locator(".strong", has_text=re.compile(f"^{name}$")))
    while (colour := gate.locator(".pill").inner_text()) != "green":
        assert time.monotonic() < deadline, gate.inner_text()
        if colour == "red":
            send(page, gate.get_by_role("button"))
        time.sleep(0.5)
        page.reload()


def vouch(page):
    """What the judge could not decide, the reviewer has read."""
    while (why := page.get_by_label("Why it holds")).count():
        why.first.fill("read in the source")
        send(page, page.get_by_role("button", name="Acknowledge").first)


def approve(page):
    for box in page.get_by_role("checkbox").all():
        box.check()
    page.locator("h1").click()  # keys go to the page, not to a box
    page.keyboard.press("a")
    with page.expect_navigation():
        page.keyboard.press("Enter")


@pytest.fixture
def review(open_page, gated):
    """Address of the review of the search's best candidate, with its gates green."""
    if "review" not in gated:
        page = open_page(gated["search"], DESKTOP)
        page.goto(page.locator("[data-best-link]").get_attribute("href"))
        page.goto(page.locator(".crumbs a").nth(1).get_attribute("href"))
        gated["structure"] = page.url
        page.get_by_role("link", name="Propose for review").click()
        page.get_by_label("What reviewers should know").fill("tuned on two cores")
        page.get_by_role("button", name="Propose").click()
        page.wait_for_url("**/reviews/*/")
        assert page.get_by_role("button", name=re.compile("Approve")).count() == 0  # one's own
        send(page, page.get_by_role("button", name="Measure at the promotion tier"))
        send(page, page.get_by_role("button", name="Re-measure"))
        wait_for_green(page, "Promotion tier")
        wait_for_green(page, "Measured again")
        gated["review"] = page.url.partition("#")[0]
    return gated["review"]


def set_quorum(page, count):
    page.goto("/reviews/?show=all")
    page.get_by_label("Approvals that a release needs").fill(str(count))
    send(page, page.get_by_role("button", name="Save"))


def test_an_approval_goes_stale_when_the_code_changes(open_page, as_rita, review, gated, artifacts):
    page = open_page("/reviews/", DESKTOP)
    set_quorum(page, 2)
    page.screenshot(path=artifacts / "review-queue.png", full_page=True)
    assert findings(page) == []
    as_rita.goto("/reviews/next/")
    assert as_rita.url == review
    vouch(as_rita)
    as_rita.locator("[data-comment='2']").first.click()
    as_rita.keyboard.type("Is this the widest load?")
    send(as_rita, as_rita.get_by_role("button", name="Comment"))
    assert "Is this the widest load?" in as_rita.locator(".remark").inner_text()
    assert findings(as_rita) == []
    as_rita.screenshot(path=artifacts / "review.png", full_page=True)
    approve(as_rita)
    assert "1 of 2 approvals" in as_rita.locator("#say").inner_text()

    first = as_rita.locator("dl a.id").first.inner_text().removeprefix("C-")
    table = page.request.get(f"{gated['structure']}candidates.csv").text().splitlines()
    ids = [line.split(",")[0].rstrip("cpr") for line in table[1:] if "PASSED" in line]
    for candidate in (next(each for each in ids if each != first), first):
        page.goto(review)
        page.locator("summary", has_text="Change the proposal").click()
        page.get_by_label("Another candidate").fill(candidate)
        send(page, page.get_by_role("button", name="Propose that one"))
        as_rita.goto(review)
        told = as_rita.locator("#say").inner_text()
        assert "0 of 2 approvals" in told
        assert "stale" in told
    as_rita.screenshot(path=artifacts / "review-stale.png", full_page=True)


def test_what_two_people_release_is_judged_again_by_hand(open_page, as_rita, review, artifacts, tmp_path):
    set_quorum(open_page("/reviews/", DESKTOP), 1)
    as_rita.goto(review)
    vouch(as_rita)
    approve(as_rita)
    as_rita.get_by_role("link", name="softmax r1").first.click()
    as_rita.wait_for_url("**/releases/*/")
    assert findings(as_rita) == []
    as_rita.screenshot(path=artifacts / "release.png", full_page=True)
    judged_again(as_rita, tmp_path)


def judged_again(page, folder):
    """The downloaded files, judged by the command that the page shows."""
    words = page.locator("#again").inner_text()
    for title in ("Standalone file", "Contract"):
        page.locator("summary", has_text="Download").click()
        with page.expect_download() as download:
            page.get_by_role("link", name=title).click()
        download.value.save_as(folder / download.value.suggested_filename)
        page.reload()
    command = [sys.executable, *words.split()[1:]]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert told["tier"] == "full"
    assert {one["verdict"] for one in told["verdicts"]} <= {"pass", "undecidable"}


@pytest.mark.parametrize("path", ["/reviews/?show=all", "/reviews/1/", "/releases/1/", "{search}gate/"])
def test_pages_fit_a_phone_without_scripts(open_page, gated, path, artifacts):
    page = open_page(path.format(**gated), PHONE, java_script_enabled=False)
    assert page.locator("h1").is_visible()
    assert page.evaluate("document.scrollingElement.scrollWidth") <= PHONE["width"]
    name = re.sub(r"\W+", "-", path.split("?")[0]).strip("-")
    page.screenshot(path=artifacts / f"phone-{name}.png", full_page=True)
