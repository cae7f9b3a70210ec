"""Best-so-far of several searches as points of a small picture, in one query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import F, Max, Q, RowRange, Window

from kernelsite.searches.models import Evaluation, Search
from search.records import EvaluationStatus, Purpose

if TYPE_CHECKING:
    from collections.abc import Iterable

WIDTH, HEIGHT = 120, 26


def sparklines(searches: Iterable[Search]) -> dict[int, str]:
    """`points` of an SVG polyline by search id; searches without a result are left out.

    The database hands out records only: a page of fifty searches would otherwise read tens of thousands of rows.
    """
    caps = {search.pk: search.evaluations_cap for search in searches}
    earlier = Window(
        Max("speedup"), partition_by="search", order_by="order", frame=RowRange(start=None, end=-1)
    )
    records = (
        Evaluation.objects.filter(
            search__in=caps, order__isnull=False, status=EvaluationStatus.PASSED, purpose=Purpose.SEARCH
        )
        .annotate(earlier=earlier)
        .filter(Q(earlier__isnull=True) | Q(speedup__gt=F("earlier")))
        .order_by("search", "order")
        .values_list("search", "order", "speedup")
    )
    curves: dict[int, list[tuple[int, float]]] = {}
    for search, order, speedup in records:
        if order is not None and speedup is not None:
            curves.setdefault(search, []).append((order, speedup))
    return {search: _points(curve, caps[search]) for search, curve in curves.items()}


def _points(curve: list[tuple[int, float]], cap: int) -> str:
    top = max(1.0, curve[-1][1]) * 1.05
    corners: list[str] = []
    level = None
    for order, value in curve:
        x, y = order / cap * WIDTH, HEIGHT - value / top * HEIGHT
        if level is not None:
            corners.append(f"{x:.1f},{level:.1f}")
        corners.append(f"{x:.1f},{y:.1f}")
        level = y
    return " ".join(corners)
