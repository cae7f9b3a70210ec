"""Figures of device classes from rows of evaluations: queue and oldest wait, success rate, drift of the baseline."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import timedelta
from statistics import median
from typing import TYPE_CHECKING, Any

from django.db.models import Count, F, Min, Q, Sum
from django.utils import timezone

from kernelsite.fleet.models import Device
from kernelsite.searches.models import AttemptState, Evaluation, Search
from search.records import EvaluationStatus, Purpose, SearchState, Tier

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from django.db.models import QuerySet

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
NEWEST = 10
"""Baseline times at the end of a series that are held against all before."""
LEAST_BEFORE = 10
MOST_TIMES = 400
ALARM = 0.03
"""A baseline that moved by more than this means that the device, not the kernels, has changed."""
ENDED = (AttemptState.DONE, AttemptState.LOST, AttemptState.INFRA)


@dataclass(frozen=True)
class Drift:
    """Times of one workload's baseline in one environment over the last day."""

    workload: str
    baseline: str
    times_us: tuple[float, ...]
    """Oldest first."""

    @property
    def change(self) -> float | None:
        """Median of the newest over the median of all before, minus 1; None while there are too few."""
        if len(self.times_us) < NEWEST + LEAST_BEFORE:
            return None
        return median(self.times_us[-NEWEST:]) / median(self.times_us[:-NEWEST]) - 1

    @property
    def change_text(self) -> str:
        """The change with its sign, in percent."""
        return "" if self.change is None else f"{self.change:+.1%}"

    @property
    def is_alarming(self) -> bool:
        """It has moved more than a device at rest would."""
        return self.change is not None and abs(self.change) > ALARM


@dataclass
class ClassFigures:
    """One device class. Counts are over all teams."""

    name: str
    queued: int = 0
    leased: int = 0
    oldest: datetime | None = None
    """When the longest waiting evaluation was sent to the queue first."""
    ended: int = 0
    """Attempts of the last day that ended, one way or another."""
    answered: int = 0
    """Those that brought an answer, good or bad: the others were lost or met broken machinery."""
    passed: int = 0
    busy_s: float = 0.0
    """Device seconds of the last hour."""
    drifts: list[Drift] = field(default_factory=list)

    @property
    def success(self) -> float | None:
        """Share of attempts that brought an answer; None without any."""
        return self.answered / self.ended if self.ended else None

    @property
    def worst_drift(self) -> Drift | None:
        """The baseline that moved most."""
        known = [drift for drift in self.drifts if drift.change is not None]
        return max(known, key=lambda drift: abs(drift.change or 0.0), default=None)


def class_figures() -> dict[str, ClassFigures]:
    """Figures by device class, in four queries; classes without rows are left out."""
    found: dict[str, ClassFigures] = {}
    for row in _open_counts():
        figures = found.setdefault(row["name"], ClassFigures(row["name"]))
        figures.queued, figures.leased, figures.oldest = row["queued"], row["leased"], row["oldest"]
    for row in _ended_counts():
        figures = found.setdefault(row["name"], ClassFigures(row["name"]))
        figures.ended, figures.answered, figures.passed = row["ended"], row["answered"], row["passed"]
        figures.busy_s = row["busy_s"] or 0.0
    for name, drifts in _drifts().items():
        found.setdefault(name, ClassFigures(name)).drifts = drifts
    return found


def queues() -> dict[str, dict[str, int]]:
    """What a launch finds before it, by device class: `searches` that use the class now, and evaluations `queued`.

    Counts are over all teams; classes that nobody uses are left out.
    """
    busy = Search.objects.filter(state__in=(SearchState.QUEUED, SearchState.RUNNING)).order_by()
    counts = busy.values("device_class").annotate(count=Count("id"))
    found = {row["device_class"]: {"searches": row["count"], "queued": 0} for row in counts}
    for row in _open_counts():
        found.setdefault(row["name"], {"searches": 0, "queued": 0})["queued"] = row["queued"]
    return found


def _open_counts() -> Iterable[Mapping[str, Any]]:
    waiting = Q(state=AttemptState.QUEUED)
    rows = Evaluation.objects.filter(state__in=(AttemptState.QUEUED, AttemptState.LEASED))
    return (
        rows.order_by()
        .values(name=F("search__device_class"))
        .annotate(
            queued=Count("id", filter=waiting),
            leased=Count("id", filter=~waiting),
            oldest=Min("created_at", filter=waiting),
        )
    )


def _ended_counts() -> Iterable[Mapping[str, Any]]:
    now = timezone.now()
    rows = Evaluation.objects.filter(search__in=_moved_lately(), finished_at__gt=now - DAY, state__in=ENDED)
    done = Q(state=AttemptState.DONE)
    return (
        rows.order_by()
        .values(name=F("search__device_class"))
        .annotate(
            ended=Count("id"),
            answered=Count("id", filter=done),
            passed=Count("id", filter=done & Q(status=EvaluationStatus.PASSED)),
            busy_s=Sum("device_seconds", filter=Q(finished_at__gt=now - HOUR)),
        )
    )


def _drifts() -> dict[str, list[Drift]]:
    """Series by class. Speed-up times candidate's time is the baseline's time: it runs in turns with every candidate."""
    # What a landscape answers has no drift.
    measured = Device.objects.order_by().values("device_class").distinct()
    rows = Evaluation.objects.filter(
        finished_at__gt=timezone.now() - DAY,
        status=EvaluationStatus.PASSED,
        counted=True,
        tier=Tier.FAST,
        purpose=Purpose.SEARCH,
        search__in=_moved_lately(),
        search__device_class__in=measured,
    )
    columns = (
        "search__device_class",
        "search__workload__slug",
        "environment_key",
        "baseline",
        "speedup",
        "median_us",
    )
    series: dict[tuple[str, str, str, str], list[float]] = defaultdict(list)
    for *place, speedup, time_us in rows.order_by("finished_at").values_list(*columns):
        if speedup and time_us:
            series[tuple(place)].append(speedup * time_us)
    found: dict[str, list[Drift]] = defaultdict(list)
    for (name, workload, _, baseline), times in series.items():
        found[name].append(Drift(workload, baseline, tuple(times[-MOST_TIMES:])))
    return found


def _moved_lately() -> QuerySet[Search]:
    """Searches of the last day: evaluations are indexed by search, not by date."""
    return Search.objects.order_by().filter(last_event_at__gt=timezone.now() - DAY).only("pk")
