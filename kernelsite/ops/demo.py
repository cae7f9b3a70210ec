"""The demo: a comparison of the four strategies on softmax, launched as soon as the site answers, watched to its end."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelsite.accounts.models import Membership
from kernelsite.catalog.models import LibraryVersion, WorkloadVersion
from kernelsite.compare.launch import ComparisonOrder, launch_comparison
from kernelsite.compare.models import Comparison
from kernelsite.compare.summary import ComparisonSummary, summary
from kernelsite.searches.launch import Options, Order
from kernelsite.searches.models.search import FINAL
from search.records import SearchState
from search.settings import Budget

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelsite.ops.launcher import Site
    from kernelsite.searches.models import Search

WORKLOAD, LIBRARY = "softmax", "core"
EVALUATIONS = 32
"""Of each arm."""
KEY = "demo-"
LOOK_S = 5.0
PATIENCE_S = 300.0
"""A demo in which nothing happens for this long has failed."""


def launch() -> tuple[Comparison, bool]:
    """The demo comparison that runs, or a new one; and whether it is new."""
    earlier = Comparison.objects.filter(idempotency_key__startswith=KEY).order_by("-pk")
    for comparison in earlier[:1]:
        if comparison.searches.exclude(state__in=FINAL).exists():
            return comparison, False
    member = Membership.objects.select_related("team", "user").order_by("pk")[0]
    order = Order(
        team=member.team,
        user=member.user,
        workload=WorkloadVersion.objects.shipped().filter(slug=WORKLOAD).latest("version"),
        library=LibraryVersion.objects.shipped().filter(slug=LIBRARY).launchable().latest("version"),
        options=Options(budget=Budget(evaluations=EVALUATIONS)),
        key=f"{KEY}{earlier.count() + 1}",
        title="Demo: four strategies on softmax at one budget",
    )
    return launch_comparison(ComparisonOrder(order))


@dataclass
class Demo:
    """Launches once the site answers; with `until_end`, ends with the comparison."""

    site: Site
    say: Callable[[str], object]
    until_end: bool
    comparison: Comparison | None = None
    trouble: str = ""
    _look_at: float = 0.0
    _seen: tuple[str, float] = ("", 0.0)

    def tick(self) -> bool:
        """Called a few times a second; False when there is nothing more to wait for."""
        self.site.tick()
        if not self.site.is_ready or time.monotonic() < self._look_at:
            return True
        self._look_at = time.monotonic() + LOOK_S
        if self.comparison is None:
            self._launch()
            return True
        return not self.until_end or self._watch(list(self.comparison.searches.order_by("pk")))

    @property
    def result(self) -> ComparisonSummary | None:
        """Numbers of the arms, None before the launch."""
        return summary(self.comparison, self.site.place.url) if self.comparison else None

    def _launch(self) -> None:
        self.comparison, is_new = launch()
        what = "launched" if is_new else "still runs"
        self.say(f"demo {what}: {self.site.place.url}{self.comparison.get_absolute_url()}")
        self.say(f"log in as {self.site.login.text}")

    def _watch(self, searches: list[Search]) -> bool:
        """Print progress; False at the end, or when nothing has moved for long."""
        line = "  ".join(_told(search) for search in searches)
        if line != self._seen[0]:
            self.say(line)
            self._seen = (line, time.monotonic())
        elif time.monotonic() - self._seen[1] > PATIENCE_S:
            self.trouble = f"nothing has happened for {PATIENCE_S:.0f} s"
            return False
        if not all(search.is_final for search in searches):
            return True
        self.trouble = "; ".join(
            f"{search.strategy} {search.state}: {search.reason}"
            for search in searches
            if search.state != SearchState.FINISHED or search.best_speedup is None
        )
        return False


def _told(search: Search) -> str:
    best = f"{search.best_speedup:.2f}x" if search.best_speedup else "-"
    return f"{search.strategy} {search.state} {search.evaluations_spent}/{search.evaluations_cap} best {best}"
