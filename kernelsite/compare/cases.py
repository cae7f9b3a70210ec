"""Case by case: speed-ups of the confirmed best of every search, and the `fast_p` curve over them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db.models import Q

from kernelsite.compare.statistics import fast_p_steps, geometric_mean
from kernelsite.searches.models import Evaluation
from kernelsite.searches.models.work import PURPOSE_SUFFIX
from search.records import Purpose, Tier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelsite.compare.groups import Group
    from kernelsite.searches.models import Search

KEY = re.compile(r"\d+\.(\d+)\.(\d+)([a-z]?)")
PURPOSES = {suffix: purpose for purpose, suffix in PURPOSE_SUFFIX.items()}

Cases = dict[str, float]
"""Speed-up by case of one search's best."""


@dataclass(frozen=True)
class CaseBar:
    """One group in one case."""

    group: Group
    speedup: float | None
    """Geometric mean over seeds; None where no seed has a time."""
    low: float | None
    high: float | None
    """Slowest and fastest seed."""


@dataclass(frozen=True)
class CaseRow:
    """One case with a bar per group."""

    case: str
    bars: tuple[CaseBar, ...]


@dataclass(frozen=True)
class ByCase:
    """What the comparison page shows case by case."""

    rows: tuple[CaseRow, ...]
    top: float
    """Highest speed-up of any seed, for the scale of the bars."""
    fast_p: tuple[tuple[Group, tuple[tuple[float, float], ...]], ...]
    counted: int
    """Searches behind it."""
    left_out: int
    """Searches whose best has no full-tier time, or that still run."""
    cases: tuple[str, ...] = ()
    """Cases that `fast_p` counts: those in which every group with a time has one."""


def by_case(groups: Sequence[Group]) -> ByCase:
    """Bars and `fast_p`. An ended search without any passed candidate counts as unsolved in every case."""
    found = _best_cases([search for group in groups for search in group.searches])
    names = sorted({case for cases in found.values() for case in cases})
    rows = tuple(CaseRow(name, tuple(_bar(group, name, found) for group in groups)) for name in names)
    common = _common(groups, found)
    curves = tuple((group, tuple(fast_p_steps(_problems(group, common, found)))) for group in groups)
    every = sum(len(group.searches) for group in groups)
    top = max((value for cases in found.values() for value in cases.values()), default=1.0)
    return ByCase(rows, top, curves, len(found), every - len(found), common)


def _best_cases(searches: Sequence[Search]) -> dict[int, Cases]:
    """Cases of every ended search's confirmed best, by search id."""
    ended = [search for search in searches if search.is_final]
    found: dict[int, Cases] = {search.pk: {} for search in ended if search.best_speedup is None}
    wanted = [_place(search) for search in ended if search.best_confirmed]
    if not wanted:
        return found
    places = wanted[0]
    for place in wanted[1:]:
        places |= place
    rows = Evaluation.objects.filter(places, current=True, tier=Tier.FULL)
    for pk, cases in rows.values_list("search", "result__cases"):
        found[pk] = {str(each["case"]): float(each["speedup"]["value"]) for each in _list(cases)}
    return found


def _list(cases: Any) -> list[dict[str, Any]]:
    return cases if isinstance(cases, list) else []


def _place(search: Search) -> Q:
    match = KEY.fullmatch(search.best_candidate)
    structure, number, suffix = match.groups() if match else ("0", "0", "")
    return Q(
        search=search.pk,
        candidate__structure__number=int(structure),
        candidate__number=int(number),
        purpose=PURPOSES.get(suffix, Purpose.CONFIRM.value),
    )


def _bar(group: Group, case: str, found: dict[int, Cases]) -> CaseBar:
    values = [value for search in group.searches if (value := found.get(search.pk, {}).get(case)) is not None]
    if not values:
        return CaseBar(group, None, None, None)
    return CaseBar(group, geometric_mean(values), min(values), max(values))


def _common(groups: Sequence[Group], found: dict[int, Cases]) -> tuple[str, ...]:
    """A case that a group was never measured in is no failure of that group."""
    timed = [{case for search in group.searches for case in found.get(search.pk, {})} for group in groups]
    known = [cases for cases in timed if cases]
    return tuple(sorted(set.intersection(*known))) if known else ()


def _problems(group: Group, names: Sequence[str], found: dict[int, Cases]) -> list[float | None]:
    known = [found[search.pk] for search in group.searches if search.pk in found]
    return [cases.get(name) for cases in known for name in names]
