"""What pages of workloads and of action libraries share."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from django.db.models import Aggregate, Count, F, Max, Q
from django.http import Http404

from kernelsite.catalog.models import Version, VersionQuerySet

if TYPE_CHECKING:
    from kernelsite.accounts.models import Team

_Row = TypeVar("_Row", bound=Version)


def results(team: Team | None) -> dict[str, Aggregate]:
    """Annotations `search_count` and `best` from the team's searches; what a landscape answered is no record."""
    own = Q(searches__team=team)
    return {
        "search_count": Count("searches", filter=own),
        "best": Max(
            "searches__best_speedup", filter=own & ~Q(searches__device_class__startswith="recorded:")
        ),
    }


def version_of(rows: VersionQuerySet[_Row], slug: str, version: int | None) -> tuple[_Row, list[_Row]]:
    """The version asked for and all there are; a team's own goes before a shipped one of the same number."""
    versions = list(rows.filter(slug=slug).order_by("-version", F("team").asc(nulls_last=True)))
    for row in versions:
        if version in (None, row.version):
            return row, versions
    raise Http404
