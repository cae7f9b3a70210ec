"""One search, watched in a real browser while it runs. The tests stand in the order of the search's life."""

from __future__ import annotations

import re
import time

import pytest
from conftest import DESKTOP, PHONE
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]

STORE = "window.kernelsite.store"
CHART = "document.querySelector('[data-chart=best]')"
WIDER_THAN_SCREEN = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def wait_for(page, condition, timeout_s=60.0):
    """Asks again and again from outside: `wait_for_function` evaluates inside, which the content policy forbids."""
    deadline = time.monotonic() + timeout_s
    while not page.evaluate(condition):
        assert time.monotonic() < deadline, f"never: {condition}"
        page.wait_for_timeout(100)


def seq(page):
    return page.evaluate(f"{STORE}.seq")


def held(page):
    """What the page holds: its store, and the rows that it shows."""
    return page.evaluate(
        f"""() => ({{
            seq: {STORE}.seq,
            structures: [...{STORE}.structures.values()],
            candidates: [...{STORE}.candidates.values()],
            shown: [...document.querySelectorAll("[data-candidates] tr")].map((row) => row.dataset.key),
            nodes: [...document.querySelectorAll("svg.tree .node")].map((node) => Number(node.dataset.number)),
            log: {STORE}.events.map((event) => event.s),
        }})"""
    )


def agrees_with_the_server(page, running):
    """Compares page and server at the same event; while a search runs that takes a few tries."""
    for _ in range(200):
        server = page.request.get(f"/searches/{running}/snapshot.json").json()
        page.wait_for_timeout(100)
        client = held(page)
        if client["seq"] == server["seq"]:
            break
    assert client["seq"] == server["seq"]
    for kind in ("structures", "candidates"):
        assert sorted(client[kind], key=lambda row: row["id"]) == sorted(
            server[kind], key=lambda row: row["id"]
        )
    assert sorted(client["shown"]) == sorted(row["id"] for row in server["candidates"])
    assert sorted(client["nodes"]) == sorted(row["number"] for row in server["structures"])
    assert client["log"] == list(range(client["log"][0], server["seq"] + 1))


def test_a_wrong_password_is_refused_and_says_so(site, browser):
    page = browser.new_page()
    page.goto(f"{site.url}/searches/")
    assert "/accounts/login/" in page.url
    page.get_by_label("Username").fill("admin")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    assert "correct" in page.get_by_role("alert").inner_text()
    page.close()


def test_errors_of_the_form_stand_beside_the_fields(open_page, complaints):
    page = open_page("/searches/new/")
    page.get_by_label("Evaluations").fill("-3")
    page.get_by_role("button", name="Launch").click()
    assert "Nothing was launched" in page.get_by_role("alert").inner_text()
    assert page.locator("#error-evaluations").is_visible()
    complaints.forgive("422")


def test_the_tree_grows_and_the_curve_moves_without_reload(open_page, running):
    page = open_page(f"/searches/{running}/")
    page.evaluate("window.untouched = true")
    wait_for(page, "document.querySelectorAll('svg.tree .node').length >= 2")
    nodes = page.locator("svg.tree .node").count()
    wait_for(page, f"({CHART}.data || []).length > 0 && {CHART}.data[0].x.length > 0")
    points = page.evaluate(f"{CHART}.data[0].x.length")
    wait_for(page, f"document.querySelectorAll('svg.tree .node').length > {nodes}")
    wait_for(page, f"{CHART}.data[0].x.length > {points}")
    assert page.evaluate("window.untouched")
    assert page.locator("[data-live-pill]").inner_text() == "Live"
    assert page.locator("[data-candidates] tr").count() >= points


def test_a_zoom_by_mouse_survives_ten_updates(open_page, running):
    page = open_page(f"/searches/{running}/")
    wait_for(page, f"({CHART}.data || []).length > 0 && {CHART}.data[0].x.length > 1")
    page.evaluate(f"window.updates = 0; {CHART}.on('plotly_afterplot', () => {{ window.updates += 1; }})")
    plot = page.locator("[data-chart=best] .nsewdrag")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + box["height"] * 0.3)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.7, box["y"] + box["height"] * 0.8, steps=8)
    page.mouse.up()
    wait_for(page, f"{CHART}.layout.xaxis.autorange === false")
    zoomed = page.evaluate(f"[...{CHART}.layout.xaxis.range, ...{CHART}.layout.yaxis.range]")
    before, events = page.evaluate("window.updates"), seq(page)
    wait_for(page, f"window.updates >= {before + 10} && {STORE}.seq >= {events + 10}")
    assert page.evaluate(f"[...{CHART}.layout.xaxis.range, ...{CHART}.layout.yaxis.range]") == zoomed
    page.get_by_role("button", name="device time").first.click()
    wait_for(page, f"{CHART}.layout.xaxis.autorange !== false")
    assert "x=device" in page.url


def test_the_selection_stays_through_updates(open_page, running):
    page = open_page(f"/searches/{running}/")
    wait_for(page, "document.querySelectorAll('svg.tree .node').length >= 2")
    page.get_by_role("button", name="Fit").click()
    page.locator("svg.tree .node[data-number='1']").click()
    assert "sel=1" in page.url
    events = seq(page)
    wait_for(page, f"{STORE}.seq > {events + 3}")
    assert page.locator("svg.tree .node.is-selected").get_attribute("data-number") == "1"
    assert page.locator("[data-inspector]").get_by_text(f"ST-{running}.1").is_visible()


def test_pause_and_resume_work_from_the_page(open_page, running):
    page = open_page(f"/searches/{running}/")
    page.get_by_role("button", name="Pause").click()
    wait_for(page, f"{STORE}.search.state === 'paused'")
    expect(page.locator("[data-state]")).to_contain_text("paused")  # drawn at the next frame
    page.get_by_role("button", name="Resume").click()
    wait_for(page, f"{STORE}.search.state === 'running'")


def test_stop_asks_first_and_can_be_declined(open_page, running):
    page = open_page(f"/searches/{running}/")
    page.get_by_role("button", name="Stop", exact=True).click()
    assert "evaluations" in page.locator("#confirm-stop").inner_text()
    page.get_by_role("button", name="Keep running").click()
    assert page.evaluate(f"{STORE}.search.state") in ("running", "waiting")


def test_a_restart_of_the_server_loses_and_doubles_nothing(site, open_page, running, complaints):
    page = open_page(f"/searches/{running}/")
    wait_for(page, "window.kernelsite.live.status === 'live'")
    page.evaluate("window.untouched = true")
    site.kill("web")
    wait_for(page, "['reconnecting', 'polling'].includes(window.kernelsite.live.status)")
    expect(page.locator("[data-live-pill]")).to_contain_text(re.compile(r"data as of \d\d:\d\d:\d\d"))
    wait_for(page, "window.kernelsite.live.status === 'live'")
    events = seq(page)
    wait_for(page, f"{STORE}.seq > {events} || {STORE}.search.state === 'finished'")
    agrees_with_the_server(page, running)
    assert page.evaluate("window.untouched")
    complaints.forgive("ERR_CONNECTION", "WebSocket connection", "ERR_EMPTY_RESPONSE", "502")


def test_a_doubled_frame_changes_nothing_and_a_gap_is_asked_for_again(open_page, running):
    page = open_page(f"/searches/{running}/")
    wait_for(page, "window.kernelsite.live.status === 'live'")
    doubled, jumped, asked = page.evaluate(
        """() => {
            const { store, live } = window.kernelsite;
            const asked = [];
            live.ws.send = (text) => asked.push(JSON.parse(text));
            const rows = store.events.length;
            live.receive({ t: "delta", from: store.seq, to: store.seq, events: [store.events.at(-1)] });
            const doubled = store.events.length - rows;
            const ahead = { ...store.events.at(-1), s: store.seq + 5 };
            live.receive({ t: "delta", from: store.seq + 5, to: store.seq + 5, events: [ahead] });
            return [doubled, store.events.length - rows, asked];
        }"""
    )
    assert (doubled, jumped) == (0, 0)
    assert [message["t"] for message in asked] == ["sync"]


def test_without_sockets_the_page_polls_and_says_so(open_page, running, complaints):
    page = open_page("/")
    page.route_web_socket("**/ws/**", lambda socket: socket.close())
    page.goto(f"/searches/{running}/")
    wait_for(page, "window.kernelsite.live.status === 'polling'")
    expect(page.locator("[data-live-pill]")).to_have_text("Polling")
    events = seq(page)
    wait_for(page, f"{STORE}.seq > {events} || {STORE}.search.state === 'finished'")
    agrees_with_the_server(page, running)
    complaints.forgive("WebSocket")


def test_the_end_is_seen_and_nothing_was_lost_on_the_way(open_page, running):
    page = open_page(f"/searches/{running}/")
    wait_for(page, f"{STORE}.search.state === 'finished'", timeout_s=300)
    wait_for(page, "window.kernelsite.live.status === 'finished'")
    agrees_with_the_server(page, running)


def test_the_page_is_complete_without_javascript(open_page, running):
    page = open_page(f"/searches/{running}/", java_script_enabled=False)
    assert page.locator("[data-structures] tr").count() >= 2
    assert page.locator("[data-candidates] tr").count() >= 10
    assert page.locator("#panel-events li").count() > 50
    assert page.locator("#panel-config code").is_visible()


def test_keys_lead_around(open_page, running):
    page = open_page("/")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "find"
    page.keyboard.type(f"S-{running}")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/searches/{running}/")
    page.keyboard.press("e")
    assert page.locator("#panel-events").is_visible()
    page.keyboard.press("?")
    assert page.locator("#shortcuts").is_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("s")
    page.wait_for_url("**/searches/")


def test_the_theme_is_kept(open_page):
    page = open_page("/")
    page.get_by_label("Theme").click()
    page.get_by_role("button", name="Dark").click()
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark


def test_hostile_text_stays_text_in_every_picture(open_page, running):
    page = open_page(f"/searches/{running}/")
    wait_for(page, "window.kernelsite?.store?.search.best")
    page.evaluate(
        """() => {
            const { store } = window.kernelsite;
            const evil = "<img src=x onerror=alert(1)>";
            const spoil = (row) => ({ ...row, title: evil, actions: [evil], knobs: { [evil]: evil } });
            store.load({
                epoch: store.epoch, seq: store.seq, server_time: store.serverTime,
                search: { ...store.search, best: { ...store.search.best, baseline: evil }, reason: evil },
                structures: [...store.structures.values()].map(spoil),
                candidates: [...store.candidates.values()].map(spoil),
                events: store.events.map((event) => ({ ...event, d: { text: evil } })),
                drafts: store.drafts.map((draft) => ({ ...draft, title: evil })),
            });
        }"""
    )
    wait_for(page, "document.querySelector('[data-reason]').textContent.includes('<img')")
    page.wait_for_timeout(800)
    assert page.locator("img, image[href]").count() == 0
    assert "<img" in page.locator("[data-inspector]").inner_text()


def test_a_comparison_draws_its_arms_while_they_run(open_page, artifacts):
    page = open_page("/searches/new/?mode=compare&workload=softmax")
    page.get_by_label("Evaluations").fill("6")
    assert page.locator("[data-summary=evaluations]").inner_text() == "24, 6 each"
    page.get_by_role("button", name="Launch").click()
    page.wait_for_url("**/compare/*/")
    wait_for(
        page,
        "(document.querySelector('#compare [data-chart]').data || []).some((trace) => trace.x.length > 0)",
    )
    assert page.locator("[data-live-pill]").inner_text() in ("Live", "Finished")
    assert page.locator("#compare-tables tbody").first.locator("tr").count() == 4
    assert "Not enough seeds" in page.locator("#compare-tables").inner_text()
    page.screenshot(path=artifacts / "compare-desktop-light.png", full_page=True)


def addresses(page, running):
    best = page.request.get(f"/searches/{running}/snapshot.json").json()["search"]["best"]
    return {
        "home": "/",
        "searches": "/searches/",
        "search": f"/searches/{running}/",
        "structure": f"/structures/{best['structure']}/",
        "contract": f"/structures/{best['structure']}/?tab=contract",
        "tuning": f"/structures/{best['structure']}/?tab=tuning",
        "code": f"/candidates/{best['candidate']}/",
        "diff": f"/candidates/{best['candidate']}/?tab=diff&against=direct",
        "checks": f"/candidates/{best['candidate']}/?tab=checks",
        "timings": f"/candidates/{best['candidate']}/?tab=timings",
        "provenance": f"/candidates/{best['candidate']}/?tab=provenance",
        "new": "/searches/new/",
        "workload": "/workloads/softmax/",
        "library": "/libraries/core/",
        "workers": "/workers/",
    }


@pytest.mark.parametrize(
    ("name", "viewport", "scheme"),
    [
        ("desktop", DESKTOP, "light"),
        pytest.param("desktop", DESKTOP, "dark", marks=pytest.mark.exhaustive),
        ("phone", PHONE, "light"),
    ],
)
def test_every_page_fits_its_screen(open_page, running, artifacts, name, viewport, scheme):
    page = open_page("/", viewport=viewport, color_scheme=scheme)
    for place, address in addresses(page, running).items():
        page.goto(address)
        if place in ("search", "tuning"):
            page.wait_for_selector(".js-plotly-plot .main-svg")
            page.wait_for_timeout(400)
        page.screenshot(path=artifacts / f"{place}-{name}-{scheme}.png", full_page=scheme == "light")
        assert page.evaluate(WIDER_THAN_SCREEN) <= 0, address
