"""How fast the page of a large search is: server time and queries, and, in a browser, first chart, log and memory.

    python benchmarks/dashboard_page.py [--repeats 7] [--without-browser]

Starts a site of its own in a temporary folder, writes one search of 5,000 candidates, 200 structures and 10,000
events into it, and 1,000 searches of 500 candidates beside it unless `--searches` says otherwise. Server times are
taken inside one process through Django's test client, so they hold no network; CPU times stand beside them because a
busy machine stretches the others. The first chart is the picture that the server draws: the search's best so far with
its dots, axes and baseline. The live chart, Plotly's, which can be zoomed and grows, takes its place; it is held against
the same goal. Medians and ranges are printed with the goals of the design; the last line is JSON. Run it on a quiet
machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

GOALS = {
    "page_ms": 400.0,
    "page_cpu_ms": 400.0,
    "page_queries": 20.0,
    "snapshot_ms": 300.0,
    "snapshot_cpu_ms": 300.0,
    "list_ms": 300.0,
    "home_ms": 300.0,
    "first_chart_ms": 2000.0,
    "live_chart_ms": 2000.0,
    "log_step_ms": 100.0,
    "heap_growth_mb": 5.0,
}
"""Upper bounds."""
UPDATES = 1000
WATCH = """
const live = "[data-chart=best] .main-svg .trace";
const wanted = { live, first: `[data-chart=best] .first-picture .line, ${live}` };
window.stood = {};
function look() {
    for (const [name, selector] of Object.entries(wanted)) {
        if (!document.querySelector(selector)) continue;
        delete wanted[name];
        setTimeout(() => { window.stood[name] = performance.now(); });
    }
    requestAnimationFrame(look);
}
requestAnimationFrame(look);
"""
"""Notes when a frame with the first and with the live chart was painted, from the start of the navigation."""


@dataclass
class Figure:
    """One thing measured: its median and range over the repeats."""

    name: str
    median: float
    low: float
    high: float

    @property
    def goal(self) -> float:
        """The bound it is held against."""
        return GOALS[self.name]

    def __str__(self) -> str:
        verdict = "met" if self.median <= self.goal else "MISSED"
        return f"{self.name:16} {self.median:9.1f}  ({self.low:.1f} to {self.high:.1f})  goal {self.goal:g}: {verdict}"


def figure(name: str, values: list[float]) -> Figure:
    """Median and range of repeated values."""
    return Figure(name, round(statistics.median(values), 2), round(min(values), 2), round(max(values), 2))


def timed_ms(
    work: Callable[[], object], repeats: int, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Milliseconds of each of several calls, after one that is not counted."""
    work()
    times = []
    for _ in range(repeats):
        began = clock()
        work()
        times.append((clock() - began) * 1000)
    return times


def server_figures(search_id: int, repeats: int) -> list[Figure]:
    """Page, snapshot and list as the server makes them, with the page's queries."""
    from django.contrib.auth import get_user_model
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(get_user_model().objects.get(username="admin"))

    def get(address: str) -> None:
        response = client.get(address)
        if response.status_code != 200:
            raise SystemExit(f"{address} answered {response.status_code}")

    page = f"/searches/{search_id}/"
    with CaptureQueriesContext(connection) as queries:
        get(page)
    return [
        figure("page_queries", [float(len(queries))]),
        figure("page_ms", timed_ms(lambda: get(page), repeats)),
        figure("page_cpu_ms", timed_ms(lambda: get(page), repeats, time.process_time)),
        figure("snapshot_ms", timed_ms(lambda: get(f"{page}snapshot.json"), repeats)),
        figure("snapshot_cpu_ms", timed_ms(lambda: get(f"{page}snapshot.json"), repeats, time.process_time)),
        figure("list_ms", timed_ms(lambda: get("/searches/"), repeats)),
        figure("home_ms", timed_ms(lambda: get("/"), repeats)),
    ]


def browser_figures(url: str, password: str, search_id: int, repeats: int) -> list[Figure]:
    """First chart, a step through the log, and the heap after a thousand updates, in chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("KERNELSITE_CHROMIUM", "/usr/bin/chromium"),
            args=["--no-sandbox", "--disable-gpu", "--js-flags=--expose-gc", "--enable-precise-memory-info"],
        )
        context = browser.new_context(viewport={"width": 1280, "height": 900}, base_url=url)
        page = context.new_page()
        log_in(page, password)
        charts = _chart_times_ms(context.new_page(), search_id, repeats)
        steps = _log_steps_ms(page, search_id)
        growth = _heap_growth_mb(page, search_id)
        browser.close()
    return [
        figure("first_chart_ms", [each["first"] for each in charts]),
        figure("live_chart_ms", [each["live"] for each in charts]),
        figure("log_step_ms", steps),
        figure("heap_growth_mb", [growth]),
    ]


def log_in(page: Any, password: str) -> None:
    """Log in through the form."""
    page.goto("/accounts/login/")
    page.get_by_label("Username").fill("admin")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/")


def _chart_times_ms(page: Any, search_id: int, repeats: int) -> list[dict[str, float]]:
    """Until the `first` and until the `live` chart, by the browser's own clock; pages are left in between."""
    page.add_init_script(WATCH)
    found = []
    for _ in range(repeats):
        page.goto("about:blank")
        page.goto(f"/searches/{search_id}/", wait_until="commit")
        page.wait_for_selector("[data-chart=best] .main-svg .trace", state="attached")
        page.wait_for_timeout(200)
        found.append(page.evaluate("window.stood"))
    page.close()
    return found


def _log_steps_ms(page: Any, search_id: int) -> list[float]:
    """Scrolls up through the whole log; each step until the rows stand."""
    page.goto(f"/searches/{search_id}/?tab=events")
    page.wait_for_selector("[data-event-log] li")
    times: list[float] = []
    while True:
        first, spent = page.evaluate(
            """async () => {
                const list = document.querySelector("[data-event-log]");
                const began = performance.now();
                list.scrollTop = 0;
                const before = list.firstElementChild.id;
                for (let turn = 0; turn < 200 && list.firstElementChild.id === before; turn += 1) {
                    await new Promise((resolve) => setTimeout(resolve, 5));
                }
                return [list.firstElementChild.id, performance.now() - began];
            }"""
        )
        rows = page.locator("[data-event-log] li").count()
        if rows > 500:
            raise SystemExit(f"{rows} rows of the log stand in the page")
        if first == "e-1":
            return times
        times.append(float(spent))


def _heap_growth_mb(page: Any, search_id: int) -> float:
    """Growth of the used heap over a thousand updates of known candidates, garbage collected before both looks."""
    page.goto(f"/searches/{search_id}/")
    page.wait_for_selector("[data-chart=best] .main-svg .trace", state="attached")
    update = """async (count) => {
        const { store } = window.kernelsite;
        const rows = [...store.candidates.values()];
        for (let turn = 0; turn < count; turn += 1) {
            const row = rows[turn % rows.length];
            const d = { text: `update ${turn}`, search: store.search, candidate: { ...row } };
            store.apply([{ s: store.seq + 1, k: "evaluation.recorded", at: row.at, d }]);
            if (turn % 5 === 0) await new Promise(requestAnimationFrame);
        }
        await new Promise((resolve) => setTimeout(resolve, 1500));
        gc();
        return performance.memory.usedJSHeapSize / 1e6;
    }"""
    before = float(page.evaluate(update, 2 * UPDATES))  # fills the log's window of 2,000 events
    return float(page.evaluate(update, UPDATES)) - before


def main() -> None:
    """Seed, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--searches", type=int, default=1000, help="searches of 500 candidates in the list")
    parser.add_argument("--without-browser", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dashboard-") as folder:
        os.environ["KERNELSITE_VAR"] = folder
        from dashboard_site import running_site, seeded

        search_id = seeded(options.searches)
        found = server_figures(search_id, options.repeats)
        if not options.without_browser:
            with running_site(Path(folder)) as (url, password):
                found += browser_figures(url, password, search_id, options.repeats)
    print(
        f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    for each in found:
        print(each)
    print(json.dumps([asdict(each) for each in found]))


if __name__ == "__main__":
    main()
