"""The page of a search with 5,000 candidates, and what happens to its live view when parts of the site fail."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time

import pytest
from playwright.sync_api import expect
from site_process import ROOT
from test_live_search import CHART, STORE, held, seq, wait_for

pytestmark = [pytest.mark.browser, pytest.mark.slow]

STATUS = "window.kernelsite.live.status"
CANDIDATES, STRUCTURES = 5000, 200
STOPPED_S = 20.0


def script(site, *words):
    """Runs Python on the site's own data; its last line."""
    environment = os.environ | {"KERNELSITE_VAR": str(site.folder), "PYTHONPATH": str(ROOT)}
    for name in ("DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE"):
        environment.pop(name, None)
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=120
    )  # fmt: skip
    return done.stdout.strip().splitlines()[-1]


def shell(site, text):
    return script(site, "manage.py", "shell", "--no-imports", "--command", text)


def write(site, search, count=1, rate=50.0):
    """Commits events of a search from another process, as a driver would."""
    script(site, "benchmarks/dashboard_live.py", "--write", str(search), str(count), str(rate))


@pytest.fixture(scope="module")
def large(site):
    """A paused search of 5,000 candidates; its number."""
    sizes = ["--structures", str(STRUCTURES), "--candidates", str(CANDIDATES)]
    return int(script(site, "benchmarks/dashboard_seed.py", *sizes))


def equals_a_reload(page):
    before = held(page)
    page.reload()
    wait_for(page, f"{STATUS} === 'live'")
    after = held(page)
    for kind in ("seq", "structures", "candidates", "shown", "nodes"):
        assert before[kind] == after[kind], kind


# First, while the page still holds what was seeded and nothing else.
def test_the_whole_page_can_be_read_without_javascript(open_page, large):
    page = open_page(f"/searches/{large}/", java_script_enabled=False)
    for heading in ("Structures", "Board", "Caps", "By stage"):
        assert page.get_by_role("heading", name=heading, exact=True).is_visible()
    expect(page.locator("[data-structures] tr")).to_have_count(STRUCTURES)
    assert page.get_by_text("seeded TIMEOUT").is_visible()
    page.get_by_role("link", name="Earlier events").click()
    expect(page.locator("[data-event-log] li")).to_have_count(250)


def test_five_thousand_candidates_are_drawn_and_most_of_them_left_out_of_the_page(
    open_page, large, artifacts
):
    page = open_page(f"/searches/{large}/")
    page.wait_for_selector("[data-chart=best] .main-svg .trace", state="attached")
    assert page.evaluate(f"{STORE}.candidates.size") == CANDIDATES
    expect(page.locator("[data-candidates] tr")).to_have_count(200)
    assert page.locator("[data-event-log] li").count() <= 500
    expect(page.locator("svg.tree .node")).to_have_count(STRUCTURES)
    dots = page.evaluate(f"{CHART}.data[0].x.length")
    assert 300 < dots <= 1200
    assert f"{dots} of" in page.evaluate(f"{CHART}.layout.annotations.at(-1).text")
    everything = ",".join(str(number) for number in range(1, 60))
    page.goto(f"/searches/{large}/?lines={everything}")
    wait_for(page, "document.querySelector('[data-lines-said]').textContent.includes('no more than 24')")
    wait_for(page, "(document.querySelector('[data-chart=tuning]').data || []).length === 24")
    page.screenshot(path=artifacts / "search-large.png", full_page=True)


def test_the_servers_picture_stands_until_the_live_chart_takes_its_place(open_page, large, complaints):
    page = open_page("/")
    held_back, mode = [], ["hold"]
    answers = {
        "hold": held_back.append,
        "let": lambda route: route.continue_(),
        "cut": lambda route: route.abort(),
    }
    page.route("**/plotly.min.js", lambda route: answers[mode[-1]](route))
    page.goto(f"/searches/{large}/", wait_until="domcontentloaded")
    picture = page.locator("[data-chart=best] .first-picture")
    assert f"after {CANDIDATES} evaluations" in picture.get_attribute("aria-label")
    page.locator("svg.tree .node").first.wait_for()  # nothing else waits for Plotly
    assert picture.locator(".line").is_visible()
    mode.append("let")
    for route in held_back:
        route.continue_()
    page.wait_for_selector("[data-chart=best] .main-svg .trace", state="attached")
    assert picture.count() == 0
    mode.append("cut")
    page.reload()
    page.locator("[data-chart=best]").get_by_text("did not load").wait_for()
    complaints.forgive("ERR_FAILED")


def test_a_zoom_survives_twenty_updates_and_a_result_without_numbers(open_page, large):
    page = open_page(f"/searches/{large}/")
    page.wait_for_selector("[data-chart=best] .main-svg .trace", state="attached")
    ranges = f"[...{CHART}.layout.xaxis.range, ...{CHART}.layout.yaxis.range]"
    page.evaluate(f"Plotly.relayout({CHART}, {{'xaxis.range': [10, 900], 'yaxis.range': [1, 3]}})")
    page.evaluate(f"window.updates = 0; {CHART}.on('plotly_afterplot', () => {{ window.updates += 1; }})")
    page.evaluate(
        """async () => {
            const { store } = window.kernelsite;
            const row = { ...store.measured().at(-1), status: "UNSTABLE_TIMING", speedup: null, low: null, high: null, median_us: null };
            for (let turn = 0; window.updates < 20 && turn < 200; turn += 1) {
                const d = { text: "no numbers", search: store.search, candidate: row };
                store.apply([{ s: store.seq + 1, k: "evaluation.recorded", at: row.at, d }]);
                await new Promise((resolve) => setTimeout(resolve, 100));
            }
        }"""
    )
    assert page.evaluate("window.updates") >= 20
    assert page.evaluate(ranges) == [10, 900, 1, 3]
    assert "UNSTABLE_TIMING" in page.locator("[data-candidates] tr").first.inner_text()
    assert "NaN" not in page.locator("main").inner_text()


def test_the_log_scrolls_to_its_first_event_and_links_lead_into_it(open_page, large):
    page = open_page(f"/searches/{large}/?tab=events")
    rows = page.locator("[data-event-log] li")
    rows.first.wait_for()
    for _ in range(200):
        page.evaluate("document.querySelector('[data-event-log]').scrollTop = 0")
        page.wait_for_timeout(60)
        assert rows.count() <= 500
        if rows.first.get_attribute("id") == "e-1":
            break
    numbers = [int(key) for key in rows.evaluate_all("rows => rows.map((row) => row.dataset.key)")]
    assert numbers == list(range(1, len(numbers) + 1))
    assert page.locator("[data-follow]").get_attribute("aria-pressed") == "false"
    page.goto("about:blank")
    page.goto(f"/searches/{large}/#e-4321")
    page.locator("#e-4321.is-linked").wait_for()
    assert page.locator("#e-4321").is_visible()


def test_folding_colour_and_lines_live_in_the_address(open_page, large):
    page = open_page(f"/searches/{large}/")
    nodes = page.locator("svg.tree .node")
    page.locator("[data-fold]").select_option("retained")
    page.locator("[data-colour]").select_option("action")
    assert nodes.count() < STRUCTURES / 2
    shown = nodes.count()
    assert f"{shown} of {STRUCTURES} shown" in page.locator("[data-folded-text]").inner_text()
    page.get_by_role("button", name="wall clock").click()
    page.locator(".line-toggle").first.click()
    wait_for(page, "document.querySelector('.line-toggle').ariaPressed === 'false'")
    page.reload()
    expect(nodes).to_have_count(shown)
    assert page.locator("[data-colour]").input_value() == "action"
    assert page.locator(".line-toggle").first.get_attribute("aria-pressed") == "false"
    assert page.get_by_role("button", name="wall clock").get_attribute("aria-pressed") == "true"
    page.get_by_role("button", name="Draw all").click()
    expect(nodes).to_have_count(STRUCTURES)


def test_the_tree_is_walked_folded_and_read_by_keyboard_alone(open_page, large):
    page = open_page(f"/searches/{large}/?view=table&sel=1")
    first = page.locator("[data-structures] tr").first
    first.focus()
    assert first.get_attribute("aria-expanded") == "true"
    page.keyboard.press("ArrowLeft")
    expect(page.locator("[data-structures] tr")).to_have_count(1)
    assert "closed=1" in page.url
    page.keyboard.press("ArrowRight")
    expect(page.locator("[data-structures] tr")).to_have_count(STRUCTURES)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    number = page.locator("[data-structures] tr[aria-selected=true]").get_attribute("data-key")
    assert number != "1"
    assert page.locator("[data-inspector]").get_by_text(f"ST-{large}.{number}", exact=True).is_visible()
    page.keyboard.press("t")
    assert page.locator("svg.tree .node.is-selected").get_attribute("data-number") == number


def test_every_chart_is_saved_as_numbers_and_as_a_picture(open_page, large, tmp_path):
    page = open_page(f"/searches/{large}/")
    page.wait_for_selector("[data-chart=best] .main-svg .trace", state="attached")
    figure = page.locator("[data-figure=best]")
    with page.expect_download() as download:
        figure.get_by_role("button", name="CSV", exact=True).click()
    download.value.save_as(tmp_path / "best.csv")
    rows = list(csv.DictReader((tmp_path / "best.csv").open(newline="")))
    assert len(rows) == page.evaluate(f"{STORE}.measured().filter((row) => row.status === 'PASSED').length")
    best = [float(row["best so far"]) for row in rows]
    assert best == sorted(best)
    with page.expect_download() as download:
        figure.get_by_role("button", name="PNG", exact=True).click()
    download.value.save_as(tmp_path / "best.png")
    assert (tmp_path / "best.png").read_bytes().startswith(b"\x89PNG")
    figure.get_by_role("button", name="Table", exact=True).click()
    expect(figure.locator("tbody tr")).to_have_count(500)


def test_a_hidden_tab_draws_once_when_it_is_shown(open_page, large):
    """A hidden tab gets no animation frames; here they are held back."""
    page = open_page(f"/searches/{large}/")
    wait_for(page, f"{STATUS} === 'live'")
    page.wait_for_timeout(300)
    draws = page.evaluate(
        """async () => {
            const { store } = window.kernelsite;
            let draws = 0;
            store.listeners.push(() => { draws += 1; });
            const frames = [];
            const original = window.requestAnimationFrame;
            window.requestAnimationFrame = (callback) => frames.push(callback);
            const row = store.measured()[0];
            for (let turn = 0; turn < 300; turn += 1) {
                store.apply([{ s: store.seq + 1, k: "evaluation.recorded", at: row.at, d: { text: "unseen", search: store.search, candidate: row } }]);
                if (turn % 100 === 0) await new Promise((resolve) => setTimeout(resolve, 10));
            }
            const hidden = draws;
            window.requestAnimationFrame = original;
            for (const frame of frames) frame();
            return [hidden, draws];
        }"""
    )
    assert draws == [0, 1]


def test_a_half_open_socket_is_noticed_by_its_silence(site, open_page, large):
    """The server's frames stop while the socket stays open, as behind a router that lost the connection."""
    page = open_page("/")
    sockets, silent = [], []

    def carry(socket):
        sockets.append(socket)
        server = socket.connect_to_server()
        server.on_message(lambda text: None if silent and socket is sockets[0] else socket.send(text))

    page.route_web_socket("**/ws/**", carry)
    page.clock.install()
    page.goto(f"/searches/{large}/")
    wait_for(page, f"{STATUS} === 'live'")
    silent.append(True)
    write(site, large, 3)
    page.wait_for_timeout(500)
    known = seq(page)
    page.clock.run_for(30_000)
    assert page.evaluate(STATUS) == "live"  # nobody can know yet
    page.clock.run_for(20_000)
    wait_for(page, f"{STATUS} === 'live' && {STORE}.seq >= {known + 3}")
    assert len(sockets) >= 2


def test_a_stopped_broker_costs_seconds_and_no_event(site, open_page, large):
    page = open_page(f"/searches/{large}/")
    wait_for(page, f"{STATUS} === 'live'")
    known = seq(page)
    broker = site.ready["programs"]["server"]
    os.kill(broker, signal.SIGSTOP)
    stopped = time.monotonic()
    try:
        # The writer commits, then waits for the bell: what it committed comes with the next heartbeat.
        text = f"from kernelsite.searches import events\nfrom search.records import EventKind\nevents.ring = lambda *_: None\nfor _ in range(5):\n    with events.locked({large}) as row:\n        events.append(row, EventKind.STATE, 'unrung')\nprint('written')"
        assert shell(site, text) == "written"
        wait_for(page, f"{STORE}.seq >= {known + 5}", timeout_s=40)
        assert page.evaluate(STATUS) == "live"
        page.wait_for_timeout(1000 * max(0.0, STOPPED_S - (time.monotonic() - stopped)))
    finally:
        os.kill(broker, signal.SIGCONT)
    write(site, large, 20)
    wait_for(page, f"{STORE}.seq >= {known + 25}", timeout_s=40)
    equals_a_reload(page)


LOSSY = """
from kernelsite.searches import events
from search.records import EventKind
ring, held = events.ring, []
events.ring = lambda search, seq: held.append(seq)
for turn in range(40):
    with events.locked({search}) as row:
        events.append(row, EventKind.STATE, f"bell {{turn}}")
    if turn % 8 == 7:
        for seq in held[::-2]:
            ring({search}, seq)
        held.clear()
print(row.event_seq)
"""
"""Every second bell is lost, the others come late and in the wrong order."""


def test_lost_and_reordered_bells_leave_the_view_that_a_reload_gives(site, open_page, large):
    page = open_page(f"/searches/{large}/")
    wait_for(page, f"{STATUS} === 'live'")
    known = seq(page)
    end = int(shell(site, LOSSY.format(search=large)))
    assert end == known + 40
    wait_for(page, f"{STORE}.seq === {end}", timeout_s=40)
    told = page.evaluate(f"{STORE}.events.slice(-40).map((event) => event.s)")
    assert told == list(range(known + 1, end + 1))
    equals_a_reload(page)


def test_who_leaves_the_team_is_shut_out_of_the_open_page(site, browser, large, complaints):
    shell(
        site,
        "from django.contrib.auth import get_user_model as m\nfrom kernelsite.accounts.models import *\n"
        "u, _ = m().objects.get_or_create(username='guest'); u.set_password('a guest of the team'); u.save()\n"
        "Membership.objects.get_or_create(user=u, team=Team.objects.first(), defaults={'role': 'viewer'}); print(u.pk)",
    )
    context = browser.new_context(base_url=site.url)
    page = context.new_page()
    page.goto("/accounts/login/")
    page.get_by_label("Username").fill("guest")
    page.get_by_label("Password").fill("a guest of the team")
    page.get_by_role("button", name="Log in").click()
    page.goto(f"/searches/{large}/")
    wait_for(page, f"{STATUS} === 'live'")
    shell(
        site,
        "from kernelsite.accounts.models import *; print(Membership.objects.filter(user__username='guest').delete())",
    )
    known = seq(page)
    write(site, large)
    wait_for(page, f"{STATUS} === 'refused'")
    assert "Signed out" in page.locator("[data-live-pill]").inner_text()
    assert seq(page) == known
    assert "is-stale" in page.locator("#search-page").get_attribute("class")
    context.close()
