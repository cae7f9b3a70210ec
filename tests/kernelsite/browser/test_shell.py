"""The frame of every page: accessible, led by keys alone, readable without scripts, honest when the server is silent."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from conftest import DESKTOP, PHONE

pytestmark = [pytest.mark.browser, pytest.mark.slow]

AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text()
SERIOUS = ("serious", "critical")
FOCUSED = "document.activeElement.textContent.trim()"


@pytest.fixture(scope="module")
def ended(browser, session_state, site):
    """A search that has ended: answered from a landscape, which takes seconds."""
    context = browser.new_context(storage_state=session_state, base_url=site.url)
    page = context.new_page()
    page.goto("/searches/new/?workload=softmax")
    page.get_by_label("Device class").select_option("recorded:cpu_softmax")
    page.get_by_label("Evaluations").fill("12")
    page.get_by_role("button", name="Launch").click()
    page.wait_for_url("**/searches/*/")
    number = int(page.url.rstrip("/").rsplit("/", 1)[1])
    deadline = time.monotonic() + 120
    while True:
        search = context.request.get(f"/searches/{number}/snapshot.json").json()["search"]
        if search["state"] == "finished":
            context.close()
            return search
        assert time.monotonic() < deadline, search["state"]
        time.sleep(0.5)


def addresses(search):
    best = search["best"]
    structure, candidate = f"/structures/{best['structure']}/", f"/candidates/{best['candidate']}/"
    tabs = [f"{structure}?tab={tab}" for tab in ("contract", "tuning")]
    tabs += [f"{candidate}?tab={tab}" for tab in ("checks", "timings", "provenance")]
    lists = [
        "/",
        "/searches/",
        "/workloads/",
        "/libraries/",
        "/compare/",
        "/workers/",
        "/compare/pick/",
        "/settings/models/",
        "/settings/team/",
        "/settings/tokens/",
        "/settings/profile/",
        "/settings/notifications/",
        "/settings/webhooks/",
        "/notices/",
        "/accounts/forgotten/",
        "/activity/",
        "/views/",
        "/reviews/",
        "/shares/",
        "/notices/",
        "/settings/profile/",
        "/settings/notifications/",
        "/settings/webhooks/",
        "/settings/sharing/",
        "/workloads/new/",
        "/workloads/import/",
        "/api/docs/",
    ]
    ones = [f"/searches/{search['id']}/", f"/compare/?s={search['id']}", "/workers/1/", "/workloads/softmax/"]
    ones += [f"/compare/parts/?p=ST-{best['structure']},C-{best['candidate']},ST-{search['id']}.1"]
    ones += ["/libraries/core/", "/libraries/core/v/1/statistics/", "/libraries/import/"]
    return [
        *lists,
        *ones,
        structure,
        candidate,
        *tabs,
        "/searches/new/",
        "/find/?q=softmax",
        "/no/such/page/",
    ]


def findings(page, rules=None):
    """What axe calls serious or critical, with the first element of each."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    only = f", runOnly: {rules}" if rules else ""
    found = page.evaluate(f"axe.run(document, {{ resultTypes: ['violations']{only} }})")["violations"]
    first = [(rule, rule["nodes"][0]) for rule in found if rule["impact"] in SERIOUS]
    return [(rule["id"], node["html"][:200], node["failureSummary"][:300]) for rule, node in first]


def test_no_page_has_a_serious_accessibility_finding_in_light_or_dark(open_page, ended, complaints):
    page = open_page("/", reduced_motion="reduce")  # colours change at once with the theme
    page.goto("/accounts/login/")
    for address in addresses(ended):
        page.goto(address)
        assert findings(page) == [], address
        page.emulate_media(color_scheme="dark")
        assert findings(page, ["color-contrast"]) == [], address
        page.emulate_media(color_scheme="light")
    complaints.forgive("404")


def test_a_phone_finds_all_of_it_too(open_page, ended):
    page = open_page("/", viewport=PHONE)
    for address in ("/", f"/compare/?s={ended['id']}", "/workers/", "/workers/1/", "/searches/"):
        page.goto(address)
        assert findings(page) == [], address
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], address
    assert page.locator(".bottom-bar a").count() == 5
    assert page.locator(".rail").is_hidden()


def test_keys_alone_lead_from_home_to_a_search_and_back(open_page, ended):
    page = open_page("/")
    page.keyboard.press("Tab")
    assert page.evaluate(FOCUSED) == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("g")
    page.keyboard.press("s")
    page.wait_for_url("**/searches/")
    page.keyboard.press("j")
    first = page.evaluate(FOCUSED)
    assert first.startswith("S-")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert page.evaluate(FOCUSED) == first
    page.keyboard.press("Enter")
    page.wait_for_url("**/searches/*/")
    page.keyboard.press("/")
    page.keyboard.type(f"{ended['id']}.1")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/structures/{ended['id']}.1/")
    page.keyboard.press("?")
    assert page.locator("#shortcuts").is_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("h")
    page.wait_for_url("**/")


def test_the_rail_folds_and_stays_folded(open_page):
    page = open_page("/")
    wide = page.locator(".rail").bounding_box()["width"]
    page.locator("#fold-rail").focus()
    page.keyboard.press("Enter")
    page.reload()
    assert page.locator(".rail").bounding_box()["width"] < wide / 2
    assert page.locator("#fold-rail").get_attribute("aria-expanded") == "false"
    assert (
        page.get_by_role("navigation", name="Main", exact=True)
        .get_by_role("link", name="Workers")
        .is_visible()
    )
    page.locator("#fold-rail").click()
    assert page.locator(".rail").bounding_box()["width"] == wide


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("/", ["Devices busy", "New records", "Recent results"]),
        ("/workers/", ["Oldest wait", "Baseline drift"]),
        ("/workers/1/", ["Queue of cpu", "Drain", "Facts"]),
        ("/compare/pick/", ["Compare"]),
    ],
)
def test_pages_are_complete_without_javascript(open_page, ended, address, words):
    page = open_page(address, java_script_enabled=False)
    for word in words:
        assert page.locator("main").get_by_text(word).first.is_visible(), word
    assert page.locator("main .needs-js:visible").count() == 0


def test_a_comparison_reads_without_javascript(open_page, ended):
    page = open_page(f"/compare/?s={ended['id']}", java_script_enabled=False)
    assert page.locator("#compare polyline").count() >= 1
    assert page.locator("#compare-tables tbody tr").count() >= 1
    assert page.locator(".ribbon rect").count() >= 2


def test_charts_are_saved_as_pictures(open_page, ended):
    page = open_page(f"/compare/?s={ended['id']}")
    page.wait_for_selector("#compare .main-svg")
    for name in ("best so far", "fast p", "case by case", "where the evaluations went"):
        figure = page.locator(f"[data-export='{name}']")
        content = taken(page, figure.get_by_role("button", name="PNG", exact=True))
        assert content.startswith(b"\x89PNG"), name
        assert len(content) > 4000, name
        rows = taken(page, figure.get_by_role("link", name="CSV", exact=True)).decode().splitlines()
        assert len(rows) > 1, name
    page.goto(f"/searches/{ended['id']}/")
    tree = page.locator(".tree-card")
    page.locator("svg.tree .node").first.wait_for()
    assert taken(page, tree.get_by_role("button", name="PNG", exact=True)).startswith(b"\x89PNG")
    rows = taken(page, tree.get_by_role("button", name="CSV", exact=True)).decode().splitlines()
    assert len(rows) == 1 + page.evaluate("window.kernelsite.store.structures.size")


def taken(page, button):
    """The file that a button gives."""
    with page.expect_download() as download:
        button.click()
    return Path(download.value.path()).read_bytes()


def test_a_picture_of_the_tree_shows_all_of_it(open_page, ended):
    """Nodes that are panned out of sight are painted too, with the icons that stand elsewhere in the page."""
    page = open_page(f"/searches/{ended['id']}/")
    page.locator("svg.tree .node").first.wait_for()
    painted = page.evaluate(
        """async () => {
            const { tree } = window.kernelsite;
            const colours = async () => {
                const image = await createImageBitmap(await tree.picture());
                const pen = new OffscreenCanvas(image.width, image.height).getContext("2d");
                pen.drawImage(image, 0, 0);
                const { data } = pen.getImageData(0, 0, image.width, image.height);
                const found = new Map();
                for (let at = 0; at < data.length; at += 4) { const key = `${data[at]},${data[at + 1]},${data[at + 2]}`; found.set(key, (found.get(key) || 0) + 1); }
                return [image.width, image.height, found.size, Math.max(...found.values()) / (data.length / 4)];
            };
            const whole = await colours();
            tree.touched = true;
            tree.view.shift(100000, 100000);
            return [whole, await colours()];
        }"""
    )
    (width, height, shades, ground), moved = painted
    assert [width, height] == moved[:2]
    assert shades > 40
    assert ground < 0.97
    assert moved[2] == pytest.approx(shades, rel=0.1)


def test_a_view_is_kept_from_its_page_and_a_long_address_shortens_itself(open_page, ended):
    page = open_page(f"/searches/{ended['id']}/?tab=events&x=device")
    page.locator(".keep-view summary").click()
    page.get_by_label("Keep this view as").fill("Device time")
    page.get_by_role("button", name="Keep", exact=True).click()
    page.wait_for_url("**/views/")
    page.get_by_role("link", name="Device time").click()
    page.wait_for_url("**/searches/*/?*")
    assert "tab=events" in page.url
    assert "x=device" in page.url
    long = ",".join(str(number) for number in range(1, 500))
    page.goto(f"/searches/{ended['id']}/?lines={long}&x=device")
    page.wait_for_url("**/?saved=*")
    page.locator("[data-x=evaluations]").click()  # what was chosen before is still known
    page.wait_for_function("!location.search.includes('x=device')")
    page.wait_for_url("**/?saved=*")
    page.reload()
    page.wait_for_url("**/?saved=*")
    assert page.locator("[data-x=evaluations]").get_attribute("aria-pressed") == "true"
    assert page.locator("#panels [data-tab=candidates]").is_visible()


def test_a_silent_server_is_told_and_forgotten_when_it_answers(open_page, complaints):
    page = open_page("/workers/")
    page.route("**/workers/", lambda route: route.abort())
    note = page.locator("#stale-note")
    note.wait_for(timeout=15000)
    assert "Not live: data as of" in note.inner_text()
    page.unroute("**/workers/")
    note.wait_for(state="detached", timeout=15000)
    complaints.forgive("ERR_FAILED")


def test_a_device_is_drained_and_enabled_from_its_page(open_page, ended):
    page = open_page("/workers/1/", viewport=DESKTOP)
    page.get_by_label("Reason").fill("test of the drain")
    page.get_by_label("I mean this device").check()
    page.get_by_role("button", name="Drain").click()
    assert "takes nothing new" in page.get_by_role("status").first.inner_text()
    assert page.get_by_text("test of the drain").first.is_visible()
    page.get_by_label("I mean this device").check()
    page.get_by_role("button", name="Enable").click()
    assert "takes work again" in page.get_by_role("status").first.inner_text()
