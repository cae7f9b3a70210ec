"""How long a search may take and what its model may cost, from what was measured here."""

from __future__ import annotations

from statistics import median, quantiles
from typing import TYPE_CHECKING, TypedDict

from django.db.models import Count, F, Sum

from kernelsite.searches.model_launch import ceiling_of
from kernelsite.searches.models import Evaluation, ModelCall, Search
from kernelsite.searches.scene import METERED
from search.records import Purpose, SearchState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelsite.accounts.models import Team
    from kernelsite.endpoints.models import ModelEndpoint

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


class ModelFacts(TypedDict):
    """What is known of a model before a search; tokens and USD of a step are None until some were made."""

    id: int
    name: str
    host: str
    ceiling_tokens: int
    """Most of one call."""
    ceiling_usd: float | None
    """None: no price today."""
    step_tokens: float | None
    """Median of the steps that this endpoint answered."""
    step_usd: float | None
    steps: int
    """How many are behind the medians."""
    steps_per_evaluation: float | None
    """Over this team's finished searches with a model."""


def model_facts(team: Team, rows: Iterable[ModelEndpoint]) -> list[ModelFacts]:
    """Facts of each endpoint for the launch form."""
    share = steps_per_evaluation(team)
    return [_facts(row, share) for row in rows]


def _facts(row: ModelEndpoint, share: float | None) -> ModelFacts:
    tokens, usd = ceiling_of(row.record_without_key)
    steps = (
        ModelCall.objects.filter(endpoint=row, tokens__gt=0)
        .order_by("-step")
        .values("step")
        .annotate(tokens_sum=Sum("tokens"), usd_sum=Sum("usd"))[:SAMPLE]
    )
    known = list(steps)
    return {
        "id": row.pk,
        "name": row.name,
        "host": row.host,
        "ceiling_tokens": tokens,
        "ceiling_usd": usd,
        "step_tokens": median(step["tokens_sum"] for step in known) if known else None,
        "step_usd": median(step["usd_sum"] for step in known) if known else None,
        "steps": len(known),
        "steps_per_evaluation": share,
    }


def steps_per_evaluation(team: Team) -> float | None:
    """Steps that a model answered over evaluations; None before a search with a model has finished."""
    finished = Search.objects.filter(team=team, agent=METERED, state=SearchState.FINISHED)
    sums = ModelCall.objects.filter(search__in=finished).aggregate(steps=Count("step", distinct=True))
    evaluations = finished.aggregate(sum=Sum("evaluations_spent"))["sum"] or 0
    return sums["steps"] / evaluations if evaluations else None
