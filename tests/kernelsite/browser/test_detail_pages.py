"""Structure and candidate pages in a real browser: every tab wide and narrow, light and dark; keys, files, no JavaScript."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import DESKTOP, PHONE

pytestmark = [pytest.mark.browser, pytest.mark.slow]

HERE = Path(__file__).resolve().parent
STRUCTURE_TABS = ("blueprint", "contract", "code", "tuning", "candidates", "profile")
CANDIDATE_TABS = ("code", "diff", "checks", "timings", "provenance")
WIDER_THAN_SCREEN = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def grown(site):
    """Addresses of a structure with 60 candidates and of its best candidate."""
    command = [sys.executable, str(HERE / "grow_in_site.py")]
    environment = os.environ | {"KERNELSITE_VAR": str(site.folder)}
    told = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
    _, structure, candidate = told.stdout.split()[-3:]
    return f"/structures/{structure}/", f"/candidates/{candidate}/"


@pytest.mark.parametrize(("viewport", "theme"), [(DESKTOP, "light"), (PHONE, "dark")], ids=["wide", "narrow"])
def test_every_tab_fits_the_screen_and_says_nothing_bad(open_page, grown, artifacts, viewport, theme):
    structure, candidate = grown
    page = open_page(structure, viewport, color_scheme=theme)
    for address, tabs in ((structure, STRUCTURE_TABS), (candidate, CANDIDATE_TABS)):
        for tab in tabs:
            page.goto(f"{address}?tab={tab}")
            page.wait_for_load_state("load")
            if tab == "tuning":
                page.locator("#tuning .main-svg").first.wait_for()
            assert page.evaluate(WIDER_THAN_SCREEN) <= 0, (address, tab)
            kind = address.split("/")[1]
            page.screenshot(path=artifacts / f"{kind}-{tab}-{theme}.png", full_page=True)


def test_brackets_walk_the_order_of_the_table(open_page, grown):
    structure, _ = grown
    page = open_page(f"{structure}?tab=candidates&sort=speedup")
    links = page.locator("tbody th a").all()
    first, second = (link.inner_text() for link in links[:2])
    links[0].click()
    page.locator("h1", has_text=first).wait_for()
    page.keyboard.press("]")
    page.locator("h1", has_text=second).wait_for()
    page.keyboard.press("[")
    page.locator("h1", has_text=first).wait_for()


def test_charts_can_be_taken_away_as_files(open_page, grown):
    structure, candidate = grown
    page = open_page(f"{structure}?tab=tuning", accept_downloads=True)
    page.locator("#tuning .main-svg").first.wait_for()
    for figure in (page.locator("#tuning"), page.locator("figure:has(svg.coordinates)")):
        with page.expect_download() as found:
            figure.get_by_role("button", name="PNG", exact=True).click()
        assert Path(found.value.path()).read_bytes().startswith(b"\x89PNG")
    with page.expect_download() as found:
        page.locator("figure:has(table.heat)").get_by_role("button", name="CSV").click()
    rows = Path(found.value.path()).read_text().splitlines()
    assert len(rows) == page.locator("table.heat tr").count()
    page.goto(f"{candidate}?tab=timings")
    with page.expect_download() as found:
        page.locator("figure").first.get_by_role("button", name="CSV").click()
    assert Path(found.value.path()).read_text().startswith("Pair,µs per call")


def test_copied_code_has_no_line_numbers(open_page, grown):
    _, candidate = grown
    page = open_page(f"{candidate}?tab=code", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy", exact=True).click()
    page.locator(".toast").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("// KNOBS {")
    assert copied.rstrip().splitlines()[-1].startswith('extern "C" int run')


def test_everything_is_there_without_javascript(open_page, grown):
    structure, candidate = grown
    page = open_page(f"{structure}?tab=tuning", java_script_enabled=False)
    assert page.locator("svg.coordinates path.line").count() >= 40
    assert page.locator("table.heat td a").count() > 0
    page.select_option("#heat-x", index=2)
    page.get_by_role("button", name="Show").click()
    assert "x=" in page.url
    page.goto(f"{candidate}?tab=timings")
    assert page.locator("svg.times rect.bar").count() > 0
    page.goto(f"{candidate}?tab=diff&against=direct&view=split")
    assert page.locator(".diff td.add").count() > 0
