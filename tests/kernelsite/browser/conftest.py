from __future__ import annotations

import os
from pathlib import Path

import pytest
import system_packages
from playwright.sync_api import sync_playwright
from site_process import Site

DESKTOP = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def artifacts(tmp_path_factory):
    """Where screenshots go: `KERNELSITE_ARTIFACTS`, or a temporary folder."""
    wanted = os.environ.get("KERNELSITE_ARTIFACTS")
    folder = Path(wanted) if wanted else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    with Site(tmp_path_factory.mktemp("site")) as site:
        yield site


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(system_packages.chromium()), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def session_state(site, browser):
    """Cookies of somebody who logged in through the form."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{site.url}/accounts/login/")
    page.get_by_label("Username").fill("admin")
    page.get_by_label("Password").fill(site.password)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(f"{site.url}/")
    state = context.storage_state()
    context.close()
    return state


class Complaints(list):
    """What a page's console said; a test that cuts the line takes those messages out by `forgive`."""

    def __init__(self):
        super().__init__()
        self.forgiven = []

    def listen(self, page):
        page.on("console", self.hear)
        page.on("pageerror", lambda error: self.append(f"exception: {error}"))

    def hear(self, message):
        # Chromium's hint about a preloaded script that is used late says only that the machine is busy.
        if message.type in ("error", "warning") and "preloaded using link preload" not in message.text:
            self.append(message.text)

    def forgive(self, *words):
        """Before or after they are said: a message may come later than what it is about."""
        self.forgiven += words

    def unforgiven(self):
        return [text for text in self if not any(word in text for word in self.forgiven)]


@pytest.fixture
def complaints():
    found = Complaints()
    yield found
    assert not found.unforgiven(), found


@pytest.fixture
def open_page(site, browser, session_state, complaints):
    """Opens an address as the person who logged in; console messages are kept and must be none."""
    contexts = []

    def open_page(address, viewport=DESKTOP, **options):
        is_phone = viewport["width"] < 768
        context = browser.new_context(
            viewport=viewport,
            storage_state=session_state,
            base_url=site.url,
            has_touch=is_phone,
            is_mobile=is_phone,
            **options,
        )
        contexts.append(context)
        page = context.new_page()
        complaints.listen(page)
        if (
            "KERNELSITE_ARTIFACTS" not in os.environ
        ):  # a picture of a long page takes a second, and nobody looks
            page.screenshot = lambda **_: b""
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def running(site, browser, session_state):
    """Launches a search from the form, once; its id."""
    context = browser.new_context(viewport=DESKTOP, storage_state=session_state, base_url=site.url)
    page = context.new_page()
    page.goto("/searches/new/?workload=softmax")
    page.get_by_label("Evaluations").fill("80")  # enough to outlast the tests that watch it run
    page.get_by_label("Wall clock seconds").fill("100")  # and no longer
    page.get_by_role("button", name="Launch").click()
    page.wait_for_url("**/searches/*/")
    number = int(page.url.rstrip("/").rsplit("/", 1)[1])
    context.close()
    return number
