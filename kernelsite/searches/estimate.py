"""How long a search may take, from what evaluations of the same workload on the same device class took here."""

from __future__ import annotations

from statistics import median, quantiles
from typing import TYPE_CHECKING, TypedDict

from django.db.models import F

from kernelsite.searches.models import Evaluation
from search.records import Purpose

if TYPE_CHECKING:
    from kernelsite.accounts.models import Team

SAMPLE = 200
"""Latest evaluations that are looked at per workload and device class."""
ENOUGH = 5


class Pace(TypedDict):
    """Seconds from one result to the next, as measured; `evaluations` is the number behind it."""

    evaluations: int
    median_s: float
    low_s: float
    high_s: float


def paces(team: Team, pairs: set[tuple[str, str]]) -> dict[str, dict[str, Pace]]:
    """Pace by workload slug and device class; what was never measured is left out.

    Args:
        team: Whose searches to look at.
        pairs: Workload slug and device class.
    """
    result: dict[str, dict[str, Pace]] = {}
    for slug, device_class in sorted(pairs):
        if pace := _pace(team, slug, device_class):
            result.setdefault(slug, {})[device_class] = pace
    return result


def _pace(team: Team, slug: str, device_class: str) -> Pace | None:
    rows = Evaluation.objects.filter(
        search__team=team,
        search__workload__slug=slug,
        search__device_class=device_class,
        charged=True,
        purpose=Purpose.SEARCH,
        started_at__isnull=False,
        finished_at__isnull=False,
    )
    spans = (
        rows.order_by("-id").annotate(span=F("finished_at") - F("started_at")).values_list("span", flat=True)
    )
    lengths = [span.total_seconds() for span in spans[:SAMPLE]]
    if len(lengths) < ENOUGH:
        return None
    cuts = quantiles(lengths, n=10)
    return {
        "evaluations": len(lengths),
        "median_s": round(median(lengths), 3),
        "low_s": round(cuts[0], 3),
        "high_s": round(cuts[-1], 3),
    }
