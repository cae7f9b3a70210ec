"""What the start page tells of searches beside their own columns: when they may end, and how their best has grown."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db.models import Count, F, Max, Min

from kernelsite.searches.models import Evaluation, Event, Search
from search.records import EventKind, SearchState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from kernelsite.accounts.models import Team

LATELY = 12
"""Searches whose records are looked at: those that moved last."""
OF_ONE = 3
"""Records of one search in the feed: a search that climbs must not hide the others."""
FEWEST = 4
"""Evaluations below which no end is told."""


@dataclass(frozen=True)
class Eta:
    """Seconds until the evaluation budget is spent, at the pace of the whole search and of its last quarter."""

    low_s: float
    high_s: float


def etas(searches: Iterable[Search]) -> dict[int, Eta]:
    """Ends of running searches by id, in one query; those with too few evaluations are left out.

    The database counts the last quarter: handed out, twenty large searches would be a hundred thousand rows.
    """
    running = {search.pk: search for search in searches if search.state == SearchState.RUNNING}
    rows = Evaluation.objects.filter(search__in=running, finished_at__isnull=False)
    quarter = rows.filter(order__gt=F("search__evaluations_spent") * 3 / 4).order_by().values("search")
    told = quarter.annotate(first=Min("finished_at"), last=Max("finished_at"), count=Count("pk"))
    found = {row["search"]: _eta(running[row["search"]], row) for row in told}
    return {pk: eta for pk, eta in found.items() if eta is not None}


def _eta(search: Search, quarter: Mapping[str, Any]) -> Eta | None:
    spent, left = search.evaluations_spent, search.evaluations_cap - search.evaluations_spent
    if spent < FEWEST or quarter["count"] < 2 or search.started_at is None or left <= 0:
        return None
    whole = (quarter["last"] - search.started_at).total_seconds() / spent
    lately = (quarter["last"] - quarter["first"]).total_seconds() / (quarter["count"] - 1)
    low, high = sorted((whole * left, lately * left))
    return Eta(max(low, 0.0), max(high, 0.0))


@dataclass(frozen=True)
class Record:
    """A new best of a search."""

    search: Search
    at: datetime
    candidate: str
    speedup: float
    before: float | None
    """The best before it; None of the first."""
    baseline: str
    confirmed: bool
    is_confirmation: bool
    """The first that was measured again: it takes the place of an unconfirmed best, faster or not."""

    @property
    def gain(self) -> str:
        """How much better than the best before, in percent with its sign."""
        if not self.before or self.is_confirmation:
            return ""
        return f"{self.speedup / self.before - 1:+.0%}"


def records(team: Team | None, most: int) -> list[Record]:
    """Newest records of the team's latest searches, newest first."""
    searches = Search.objects.of_team(team).filter(last_event_at__isnull=False)
    latest = {row.pk: row for row in searches.select_related("workload").order_by("-last_event_at")[:LATELY]}
    events = Event.objects.filter(search__in=latest, kind=EventKind.BEST).order_by("search", "seq")
    found: dict[int, list[Record]] = defaultdict(list)
    for pk, at, best in events.values_list("search", "at", "payload__search__best"):
        if not isinstance(best, dict):
            continue
        found[pk].append(_record(latest[pk], at, best, found[pk][-1] if found[pk] else None))
    newest = [record for rows in found.values() for record in rows[-OF_ONE:]]
    return sorted(newest, key=lambda record: record.at, reverse=True)[:most]


def _record(search: Search, at: datetime, best: dict[str, Any], before: Record | None) -> Record:
    confirmed = bool(best["confirmed"])
    return Record(
        search=search,
        at=at,
        candidate=best["candidate"],
        speedup=best["speedup"],
        before=before.speedup if before else None,
        baseline=best["baseline"],
        confirmed=confirmed,
        is_confirmation=confirmed and before is not None and not before.confirmed,
    )
