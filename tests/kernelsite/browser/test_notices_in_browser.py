"""What a person is told, from the row to the bell, the list and a receiver outside; and ending one's other sessions."""

from __future__ import annotations

import json
import time

import pytest
from playwright.sync_api import expect
from test_dashboard import shell

from tests.fakes.webhook_receiver import Receiver

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TELL = """
from kernelsite.accounts.models import Team
from kernelsite.notices.models import Event
from kernelsite.notices.notify import notify
print(notify(Team.objects.get(), Event.RECORD, "softmax on cpu: 3x", link="/workers/", key="browser").pk)
"""


def wait_until(is_so, timeout_s=60.0):
    deadline = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.2)


def test_a_notice_reaches_bell_list_and_webhook(site, open_page):
    with Receiver() as receiver:
        page = open_page("/settings/webhooks/")
        page.get_by_label("Name").fill("bot")
        page.get_by_label("Address").fill(receiver.url)
        page.get_by_role("button", name="Add").click()
        expect(page.locator("#secret")).to_contain_text("whsec_")
        page.get_by_role("button", name="Test").click()
        expect(page.get_by_text("bot took the test.")).to_be_visible()
        before = len(receiver.got)
        shell(site, TELL)
        # The courier of the running site, beside its sweeper, sends it by itself.
        wait_until(lambda: len(receiver.got) > before)
        assert json.loads(receiver.got[-1][1])["data"]["url"] == f"{site.url}/workers/"
        page.goto("/notices/")
        expect(page.locator("#bell .badge")).to_be_visible()
        row = page.locator(".notice", has_text="softmax on cpu: 3x")
        row.get_by_role("link").click()
        page.wait_for_url("**/workers/")
        page.goto("/notices/?unread=1")
        expect(page.locator(".notice", has_text="softmax on cpu: 3x")).to_have_count(0)
        page.goto("/settings/webhooks/")
        page.get_by_role("link", name="bot").click()
        expect(page.locator("tbody tr").first).to_contain_text("sent")
        page.get_by_role("button", name="Delete").click()
        expect(page.get_by_role("link", name="bot")).to_have_count(0)


def test_other_browsers_are_logged_out_from_the_profile(site, browser, open_page):
    context = browser.new_context(base_url=site.url)
    other = context.new_page()
    other.goto("/accounts/login/")
    other.get_by_label("Username").fill("admin")
    other.get_by_label("Password").fill(site.password)
    other.get_by_role("button", name="Log in").click()
    other.goto("/settings/profile/")
    number = other.locator("tr", has_text="this one").locator("[name=which]").get_attribute("value")
    page = open_page("/settings/profile/")
    page.locator(f"tr:has([value='{number}'])").get_by_role("button", name="Log out").click()
    expect(page.get_by_text("1 session logged out.")).to_be_visible()
    other.goto("/settings/profile/")
    expect(other).to_have_url(f"{site.url}/accounts/login/?next=/settings/profile/")
    context.close()
