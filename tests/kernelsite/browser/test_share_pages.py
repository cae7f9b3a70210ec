"""A share link in the browser of somebody without an account: opened, live, expired, revoked, printed."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from test_shell import findings

pytestmark = pytest.mark.browser

DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
HOSTILE = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def finished(site):
    """A finished search of rows; its id."""
    command = [sys.executable, str(Path(__file__).with_name("grow_in_site.py"))]
    environment = os.environ | {"KERNELSITE_VAR": str(site.folder)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
    return int(done.stdout.split()[-3])


@pytest.fixture
def guest(browser, complaints):
    """Opens an address in a browser without cookies."""
    contexts = []

    def guest(address, viewport=DESKTOP, **options):
        context = browser.new_context(viewport=viewport, **options)
        contexts.append(context)
        page = context.new_page()
        complaints.listen(page)
        page.goto(address)
        return page

    yield guest
    for context in contexts:
        context.close()


def in_database(site, sql):
    with sqlite3.connect(site.folder / "db.sqlite3", timeout=20) as connection:
        connection.execute(sql)


def make(open_page, search, **choices):
    page = open_page(f"/searches/{search}/")
    page.get_by_role("link", name="Share", exact=True).click()
    for label in choices.get("check", ()):
        page.get_by_label(label).check()
    page.get_by_label("Title").fill(choices.get("title", "Softmax for everybody"))
    page.get_by_label("Title").blur()
    return page


def made(page):
    page.get_by_role("button", name="Make the link").click()
    return page.locator("#link").inner_text()


def test_what_was_previewed_is_what_a_guest_sees(open_page, guest, finished, artifacts):
    page = make(open_page, finished, title=HOSTILE, check=["Code of the best candidate"])
    page.locator("#preview .code").wait_for()
    # One preview is asked for after the other; the last one has both.
    page.locator("#preview h1", has_text=HOSTILE).wait_for()
    assert "kernel.cpp" in page.locator("#listed").inner_text()
    previewed = page.locator("#preview .result").inner_text()
    assert findings(page) == []
    page.screenshot(path=artifacts / "share-new.png", full_page=True)
    link = made(page)
    assert findings(page) == []

    public = guest(link)
    assert public.locator("h1").inner_text() == HOSTILE
    assert public.locator("#result .result").inner_text() == previewed
    assert public.locator("script").count() == 0
    assert public.locator(".rail, .top, form").count() == 0
    assert not [
        a
        for a in public.locator("a").all()
        if not (a.get_attribute("href") or "").startswith(("data", "figures"))
    ]
    assert public.context.cookies() == []
    assert findings(public) == []
    public.screenshot(path=artifacts / "share-public.png", full_page=True)
    with public.expect_download() as download:
        public.get_by_role("link", name="PNG").first.click()
    assert download.value.suggested_filename == "best-so-far.png"
    phone = guest(link, PHONE, color_scheme="dark", java_script_enabled=False)
    assert phone.locator("main").bounding_box()["width"] <= PHONE["width"]
    phone.screenshot(path=artifacts / "share-public-phone.png", full_page=True)
    assert public.pdf(format="A4").startswith(b"%PDF")


def test_a_link_expires_and_is_revoked_for_who_has_it_open(open_page, guest, site, finished, complaints):
    link = made(make(open_page, finished))
    public = guest(link)
    listed = open_page("/shares/")
    assert findings(listed) == []
    row = listed.locator("tbody tr").first
    assert "1 time" in row.inner_text()
    in_database(site, "UPDATE shares_share SET expires_at = '2020-01-01 00:00:00'")
    answer = public.reload()
    assert answer.status == 404
    expired = public.content()
    in_database(site, "UPDATE shares_share SET expires_at = '2099-01-01 00:00:00'")
    assert public.reload().status == 200
    row.get_by_role("button", name="Revoke").click()
    listed.get_by_text("does not work any more").wait_for()
    assert public.reload().status == 404
    assert public.content() == expired
    assert "Ask whoever sent it for a new one" in public.locator("main").inner_text()
    assert findings(public) == []
    complaints.forgive("404")
    log = (site.folder / "up.log").read_text(errors="replace")
    assert link.rstrip("/").rsplit("/", 1)[1] not in log


def test_a_live_page_follows_by_asking_and_empties_itself_when_it_ends(
    open_page, guest, site, finished, complaints
):
    page = make(open_page, finished)
    page.get_by_text("Live until the link ends").click()
    link = made(page)
    public = guest("about:blank")
    sockets = []
    public.on("websocket", lambda socket: sockets.append(socket.url))
    public.clock.install()
    public.goto(link)
    assert "live until" in public.locator("#result").inner_text()
    number = 321
    in_database(
        site,
        f"UPDATE searches_search SET passed_count = {number}, event_seq = event_seq + 1 WHERE id = {finished}",
    )
    public.clock.fast_forward(15_500)
    public.get_by_text(f"{number} passed").wait_for()
    in_database(site, "UPDATE shares_share SET revoked_at = '2020-01-01 00:00:00'")
    public.clock.fast_forward(15_500)
    public.get_by_text("This link does not work any more").wait_for()
    assert public.locator("#result").inner_text() == ""
    assert sockets == []
    complaints.forgive("404")
