"""Pictures of every page: light, dark and on a phone, of a site with searches that really ran.

    python benchmarks/dashboard_shots.py OUT [--folder FOLDER] [--only search,home]

Starts a site of its own in a folder (kept when `--folder` names one, so that a second call only takes pictures),
launches the four strategies on a recorded device with three seeds and one search on this machine's processor, both
through the form, waits for their end and takes the pictures. Exits with 1 when a page is wider than its screen, says
something in the console or does not answer; each such page is named.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from playwright.sync_api import TimeoutError, sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator

DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
LOOKS = (("light", DESKTOP, "light"), ("dark", DESKTOP, "dark"), ("phone", PHONE, "light"))
RECORDED, SEEDS, BUDGET, OWN_BUDGET = "recorded:cpu_softmax", "0, 1, 2", "60", "80"
WAIT_S = 900.0
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
CHART_MS = 8000


@dataclass
class Watched:
    """A page of the browser and what was wrong with what it showed."""

    page: Any
    problems: list[str] = field(default_factory=list)

    def listen(self) -> None:
        """Keep what the console says from now on."""
        self.page.on("console", lambda said: said.type in ("error", "warning") and self.blame(said.text))
        self.page.on("pageerror", lambda error: self.blame(str(error)))

    def blame(self, what: str) -> None:
        """Note a problem of the address that is shown."""
        self.problems.append(f"{self.page.url}: {what[:300]}")

    def show(self, address: str) -> None:
        """Open an address and wait for its charts."""
        answer = self.page.goto(address)
        if answer is None or answer.status != 200:
            self.blame(f"answered {answer and answer.status}")
        if self.page.locator("[data-chart]:visible").count():
            with suppress(TimeoutError):  # a chart without a point is a page too
                self.page.wait_for_selector(".js-plotly-plot .main-svg", timeout=CHART_MS)
        self.page.wait_for_timeout(500)
        if (wider := self.page.evaluate(WIDER)) > 0:
            self.blame(f"{wider} px wider than the screen")


def launch(page: Any, folder: Path) -> dict[str, str]:
    """Launch what the pictures show, once per folder; addresses of both pages."""
    known = folder / "shown.json"
    if not known.exists():
        arms = _launch(page, "/searches/new/?mode=compare&workload=softmax", RECORDED, BUDGET, SEEDS)
        one = _launch(page, "/searches/new/?workload=softmax", "cpu", OWN_BUDGET, "")
        known.write_text(json.dumps({"comparison": arms, "search": one}))
    places: dict[str, str] = json.loads(known.read_text())
    return places


def _launch(page: Any, address: str, device: str, budget: str, seeds: str) -> str:
    page.goto(address)
    page.get_by_label("Device class").select_option(device)
    page.get_by_label("Evaluations").fill(budget)
    if seeds:
        page.get_by_label("Seeds").fill(seeds)
    page.get_by_role("button", name="Launch").click()
    page.wait_for_url(lambda url: "/new/" not in url)
    return urlsplit(page.url).path


def wait_for_the_end(page: Any) -> None:
    """Wait until nothing runs any more.

    Raises:
        SystemExit: something still runs after a quarter of an hour.
    """
    deadline = time.monotonic() + WAIT_S
    while page.request.get("/searches/running.json").json()["running"]:
        if time.monotonic() > deadline:
            raise SystemExit("searches still run")
        time.sleep(1)


def addresses(page: Any, places: dict[str, str]) -> dict[str, str]:
    """Every page by name."""
    best = page.request.get(f"{places['search']}snapshot.json").json()["search"]["best"]
    structure, candidate = f"/structures/{best['structure']}/", f"/candidates/{best['candidate']}/"
    tabs = ("contract", "code", "candidates", "tuning", "profile")
    checks = ("diff", "checks", "timings", "log", "provenance")
    return {
        "home": "/", "searches": "/searches/", **places,
        **{f"search-{tab}": f"{places['search']}?tab={tab}" for tab in ("failures", "events", "budget", "config")},
        "structure": structure, **{f"structure-{tab}": f"{structure}?tab={tab}" for tab in tabs},
        "candidate": candidate, **{f"candidate-{tab}": f"{candidate}?tab={tab}" for tab in checks},
        "new": "/searches/new/", "new-compare": "/searches/new/?mode=compare", "find": "/find/?q=softmax",
        "compare": "/compare/", "pick": "/compare/pick/", "workloads": "/workloads/", "workload": "/workloads/softmax/",
        "libraries": "/libraries/", "library": "/libraries/core/", "library-statistics": "/libraries/core/v/1/statistics/",
        "workers": "/workers/", "worker": "/workers/1/", "models": "/settings/models/", "views": "/views/", "model-new": "/settings/models/new/",
        "team": "/settings/team/", "tokens": "/settings/tokens/", "activity": "/activity/", "api": "/api/docs/",
    }  # fmt: skip


def shoot(browser: Any, options: dict[str, Any], pages: dict[str, str], out: Path) -> list[str]:
    """Take all pictures; what was wrong."""
    problems: list[str] = []
    for look, viewport, scheme in LOOKS:
        is_phone = viewport["width"] < 768
        context = browser.new_context(
            **options, viewport=viewport, color_scheme=scheme, is_mobile=is_phone, has_touch=is_phone
        )
        watched = Watched(context.new_page())
        watched.listen()
        for name, address in pages.items():
            watched.show(address)
            watched.page.screenshot(path=out / f"{name}-{look}.png", full_page=True)
        problems += [f"{look}: {problem}" for problem in watched.problems]
        context.close()
    return problems


@contextmanager
def chromium() -> Iterator[Any]:
    """The distribution's browser."""
    with sync_playwright() as playwright:
        path = os.environ.get("KERNELSITE_CHROMIUM", "/usr/bin/chromium")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


def main() -> None:
    """Launch, wait, take the pictures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--folder", type=Path, help="state of the site, kept afterwards")
    parser.add_argument("--only", default="", help="names of pages, with commas between")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="dashboard-") as folder:
        os.environ["KERNELSITE_VAR"] = str(options.folder or folder)
        problems = _all(Path(os.environ["KERNELSITE_VAR"]), options)
    print("\n".join(problems) or "every page fits its screen and says nothing in the console")
    sys.exit(bool(problems))


def _all(folder: Path, options: argparse.Namespace) -> list[str]:
    from dashboard_page import log_in
    from dashboard_site import running_site

    folder.mkdir(parents=True, exist_ok=True)
    with running_site(folder) as (url, password), chromium() as browser:
        context = browser.new_context(base_url=url)
        page = context.new_page()
        log_in(page, password)
        places = launch(page, folder)
        wait_for_the_end(page)
        wanted = {name for name in options.only.split(",") if name}
        pages = {name: each for name, each in addresses(page, places).items() if not wanted or name in wanted}
        kept = {"base_url": url, "storage_state": context.storage_state()}
        return shoot(browser, kept, pages, options.out)


if __name__ == "__main__":
    main()
