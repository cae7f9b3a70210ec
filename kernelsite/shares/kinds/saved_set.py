"""A saved set of searches; its name and note stay with the team."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelsite.compare.models import SavedSet
from kernelsite.shares.kinds.comparison import result_of, suggest_of, version_of
from kernelsite.shares.kinds.kind import Kind

if TYPE_CHECKING:
    from kernelsite.searches.models import Search
    from kernelsite.shares.document import Result, Scope


def _find(team: int, pk: int) -> SavedSet | None:
    return SavedSet.objects.filter(team=team, pk=pk).first()


def _searches(row: SavedSet) -> list[Search]:
    return list(row.searches.select_related("workload", "library").order_by("pk"))


def _result(row: SavedSet, title: str, scope: Scope) -> Result:
    return result_of("set", _searches(row), title, scope)


KIND = Kind(
    word="set",
    find=_find,
    name=lambda row: f"set {row.slug}",
    address=SavedSet.get_absolute_url,
    suggest=lambda row: suggest_of(_searches(row)),
    version=lambda row: version_of(_searches(row)),
    result=_result,
    is_one_search=False,
)
