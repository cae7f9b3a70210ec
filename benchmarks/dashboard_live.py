"""How long a live event takes from commit to the page, and whether three hundred viewers of one search lose any.

    python benchmarks/dashboard_live.py [--viewers 300] [--rate 50] [--seconds 20]

Starts a site of its own (`manage.py up`: one daphne, embedded broker, SQLite) in a temporary folder with a paused
search of 5,000 candidates. First one chromium watches it and the time from commit to the drawn frame is taken; then
so many plain sockets watch another search while `rate` events a second are written. Writer, viewers and server
share this machine, so the figures hold all of their work. Clocks are the machine's own. The last line is JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

GOAL_ONE_S, GOAL_MANY_S = 0.4, 1.0
DRAWN = """() => {
    const { store } = window.kernelsite;
    window.drawn = {};
    let last = store.seq;
    store.subscribe(() => requestAnimationFrame(() => {
        const now = performance.timeOrigin + performance.now();
        for (; last < store.seq; last += 1) window.drawn[last + 1] = now;
    }));
}"""
OPEN_S, SETTLE_S = 90.0, 20.0


def write_events(search_id: int, count: int, rate: float) -> dict[int, float]:
    """Commit events of the search at a rate; the wall clock of each commit, by number."""
    from kernelsite.searches import events
    from search.records import EventKind

    committed: dict[int, float] = {}
    began = time.perf_counter()
    for number in range(count):
        with events.locked(search_id) as row:
            event = events.append(row, EventKind.STATE, f"news {number}")
        committed[event.seq] = time.time()
        time.sleep(max(0.0, began + (number + 1) / rate - time.perf_counter()))
    return committed


def percentile(values: list[float], share: float) -> float:
    """The value that this share of all values does not exceed."""
    return sorted(values)[min(len(values) - 1, math.ceil(share * len(values)) - 1)]


@dataclass
class Latency:
    """Seconds from commit to arrival."""

    name: str
    values: list[float]
    goal: float
    lost: int = 0

    def __str__(self) -> str:
        verdict = "met" if percentile(self.values, 0.95) <= self.goal and not self.lost else "MISSED"
        middle, high = statistics.median(self.values), percentile(self.values, 0.95)
        return (
            f"{self.name}: median {middle:.3f} s, p95 {high:.3f} s, max {max(self.values):.3f} s, "
            f"{self.lost} lost, {len(self.values)} arrivals; goal p95 {self.goal} s: {verdict}"
        )

    @property
    def record(self) -> dict[str, float | str]:
        """For the JSON line."""
        p95 = percentile(self.values, 0.95)
        return {
            "name": self.name,
            "median_s": statistics.median(self.values),
            "p95_s": p95,
            "lost": self.lost,
        }


def one_viewer(url: str, password: str, search_id: int) -> Latency:
    """Commit to drawn frame in one chromium, two events a second."""
    from dashboard_page import log_in
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("KERNELSITE_CHROMIUM", "/usr/bin/chromium"),
            args=["--no-sandbox", "--disable-gpu"],
        )
        page = browser.new_context(base_url=url).new_page()
        log_in(page, password)
        page.goto(f"/searches/{search_id}/")
        page.wait_for_selector('[data-live-pill][data-status="live"]')
        page.wait_for_timeout(3000)
        page.evaluate(DRAWN)
        # Django refuses database calls in a thread with a running loop, which Playwright has: write from a child.
        committed = _written_by_child(search_id, 60, 2.0)
        page.wait_for_timeout(3000)
        drawn = page.evaluate("window.drawn")
        browser.close()
    times = [drawn[str(seq)] / 1000 - at for seq, at in committed.items() if str(seq) in drawn]
    return Latency("one viewer, commit to drawn", times, GOAL_ONE_S, len(committed) - len(times))


def _written_by_child(search_id: int, count: int, rate: float) -> dict[int, float]:
    command = [sys.executable, __file__, "--write", str(search_id), str(count), str(rate)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {int(seq): at for seq, at in json.loads(done.stdout.splitlines()[-1]).items()}


@dataclass
class Viewer:
    """One plain socket: what arrived when, and whether a number was skipped."""

    arrived: dict[int, float] = field(default_factory=dict)
    last: int = 0
    skipped: int = 0
    is_open: bool = False

    def take(self, text: str) -> None:
        """Note a frame's events."""
        frame = json.loads(text)
        if frame["t"] == "hello":
            self.last, self.is_open = frame["seq"], True
        for event in frame.get("events", ()):
            self.skipped += event["s"] != self.last + 1
            self.last = event["s"]
            self.arrived[event["s"]] = time.time()


async def many_viewers(url: str, cookie: str, search_id: int, options: argparse.Namespace) -> Latency:
    """Commit to arrival at each of many sockets while a child process writes."""
    viewers = [Viewer() for _ in range(options.viewers)]
    transports = [await _open(url, cookie, search_id, viewer) for viewer in viewers]
    await _until(lambda: all(viewer.is_open for viewer in viewers), OPEN_S)
    await asyncio.sleep(2)
    count = int(options.rate * options.seconds)
    committed = await asyncio.to_thread(_written_by_child, search_id, count, options.rate)
    end = max(committed)
    await _until(lambda: all(viewer.last >= end for viewer in viewers), SETTLE_S)
    for transport in transports:
        transport.close()
    times = [
        viewer.arrived[seq] - at
        for viewer in viewers
        for seq, at in committed.items()
        if seq in viewer.arrived
    ]
    lost = len(committed) * len(viewers) - len(times) + sum(viewer.skipped for viewer in viewers)
    return Latency(f"{options.viewers} viewers at {options.rate:g} events/s", times, GOAL_MANY_S, lost)


async def _until(condition: Callable[[], bool], within_s: float) -> None:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline and not condition():
        await asyncio.sleep(0.1)


async def _open(url: str, cookie: str, search_id: int, viewer: Viewer) -> Any:
    from autobahn.asyncio.websocket import WebSocketClientFactory, WebSocketClientProtocol

    class Protocol(WebSocketClientProtocol):
        def onMessage(self, payload: bytes, isBinary: bool) -> None:
            viewer.take(payload.decode())

    host, port = url.removeprefix("http://").split(":")
    factory: Any = WebSocketClientFactory(  # type: ignore[no-untyped-call]  # autobahn annotates none
        f"ws://{host}:{port}/ws/searches/{search_id}/?after=0&epoch=-",
        headers={"Cookie": cookie, "Origin": url},
    )
    factory.protocol = Protocol
    factory.setProtocolOptions(openHandshakeTimeout=OPEN_S)
    transport, _ = await asyncio.get_running_loop().create_connection(factory, host, int(port))
    return transport


def cookie_of(url: str, password: str) -> str:
    """Cookie header of somebody who logged in through the form."""
    import re
    import urllib.parse
    import urllib.request
    from http.cookiejar import CookieJar

    jar = CookieJar()
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    form = opener.open(f"{url}/accounts/login/").read().decode()
    found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', form)
    if found is None:
        raise SystemExit("no log-in form")
    fields = {"csrfmiddlewaretoken": found[1], "username": "admin", "password": password}
    opener.open(f"{url}/accounts/login/", urllib.parse.urlencode(fields).encode())
    return "; ".join(f"{cookie.name}={cookie.value}" for cookie in jar)


def main() -> None:
    """Seed, watch, print; with `--write`, only write and print when."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--viewers", type=int, default=300)
    parser.add_argument("--rate", type=float, default=50.0)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--without-browser", action="store_true")
    parser.add_argument("--write", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        import dashboard_site  # noqa: F401  # sets Django up

        search_id, count, rate = options.write
        print(json.dumps(write_events(int(search_id), int(count), float(rate))))
        return
    with tempfile.TemporaryDirectory(prefix="dashboard-") as folder:
        os.environ["KERNELSITE_VAR"] = folder
        from dashboard_site import running_site, seeded

        large = seeded(searches=1)
        found = []
        with running_site(Path(folder)) as (url, password):
            if not options.without_browser:
                found.append(one_viewer(url, password, large))
            found.append(asyncio.run(many_viewers(url, cookie_of(url, password), large - 1, options)))
    print(
        f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    for each in found:
        print(each)
    print(json.dumps([each.record for each in found]))


if __name__ == "__main__":
    main()
