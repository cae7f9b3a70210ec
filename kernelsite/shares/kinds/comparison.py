"""Searches side by side: a launched comparison. `result_of` serves saved sets too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils import timezone

from kernelsite.compare.cases import by_case
from kernelsite.compare.groups import MOST_GROUPS, MOST_LINES, groups_of
from kernelsite.compare.models import Comparison
from kernelsite.compare.runs import AXES, EVALUATIONS
from kernelsite.shares import parts
from kernelsite.shares.document import Bar, CaseRow, Group, Headline, Line, Result
from kernelsite.shares.kinds.kind import Kind
from kernelsite.shares.kinds.search import counts_of

if TYPE_CHECKING:
    from kernelsite.compare import groups as compare
    from kernelsite.compare.cases import CaseBar
    from kernelsite.searches.models import Search
    from kernelsite.shares.document import Scope


def _find(team: int, pk: int) -> Comparison | None:
    return Comparison.objects.filter(team=team, pk=pk).first()


def searches_of(row: Comparison) -> list[Search]:
    """Its searches, in their order."""
    return list(row.searches.select_related("workload", "library").order_by("pk"))


def suggest_of(searches: list[Search]) -> str:
    """A title out of the workload's name and the number of searches."""
    if not searches:
        return "Comparison"
    return f"{searches[0].workload.title}: {len(searches)} searches compared"


def version_of(searches: list[Search]) -> str:
    """Grows with every event of any of them."""
    return f"{len(searches)}.{sum(search.event_seq for search in searches)}"


def result_of(kind: str, searches: list[Search], title: str, scope: Scope) -> Result:
    """The groups with their curves and cases; of trees, programs and transcripts nothing: those belong to one search.

    Raises:
        ValueError: there is no search in it.
    """
    if not searches:
        raise ValueError("nothing to share: the comparison has no search")
    groups = groups_of(searches)[:MOST_GROUPS]
    names = public_names(groups)
    shown = [search for group in groups for search in group.searches]
    leader = _leader(shown)
    best = parts.best_of(leader, leader.best_candidate) if leader else None
    return Result(
        kind=kind,
        title=title,
        taken_at=timezone.now().isoformat(timespec="seconds"),
        began=parts.day(min(search.started_at or search.created_at for search in shown)),
        ended=_ended(shown),
        is_over=all(search.is_final for search in shown),
        device=parts.device_of(best),
        language=parts.language_of(shown[0]),
        workload=parts.workload_of(shown[0]),
        headline=parts.headline_of(best, is_confirmed=leader is not None and leader.best_confirmed),
        counts=counts_of(shown),
        groups=tuple(_group(group, names[group.index]) for group in groups),
        lines=_lines(groups, names),
        axis="evaluations of each search",
        cases=_cases(groups, names, shown[0]),
        method=parts.method_of(best),
    )


def public_names(groups: list[compare.Group]) -> list[str]:
    """Strategies, and numbers where two have the same: names by other settings may hold words of the team."""
    words = [group.searches[0].strategy.replace("_", " ") for group in groups]
    seen: dict[str, int] = {}
    names = []
    for word in words:
        seen[word] = seen.get(word, 0) + 1
        names.append(f"{word} {seen[word]}" if words.count(word) > 1 else word)
    return names


def _leader(searches: list[Search]) -> Search | None:
    """The search with the best; a confirmed best goes before any other."""
    timed = [search for search in searches if search.best_speedup is not None]
    return max(timed, key=lambda search: (search.best_confirmed, search.best_speedup or 0.0), default=None)


def _ended(searches: list[Search]) -> str:
    ends = [search.finished_at for search in searches if search.finished_at]
    return parts.day(max(ends)) if len(ends) == len(searches) else ""


def _group(group: compare.Group, name: str) -> Group:
    summary = group.summary
    best = None
    if summary["best_speedup"] is not None:
        best = Headline(
            speedup=summary["best_speedup"],
            low=summary["low"],
            high=summary["high"],
            median_us=summary["best_us"],
            is_confirmed=summary["confirmed"],
        )
    return Group(
        name=name,
        hue=group.index,
        seeds=len(group.searches),
        evaluations=summary["evaluations"],
        passed=summary["passed"],
        structures=summary["structures"],
        best=best,
    )


def _lines(groups: list[compare.Group], names: list[str]) -> tuple[Line, ...]:
    """The median of every group with enough seeds, over a thin line for each search."""
    runs = [(group, run) for group in groups for run in group.runs if run.records]
    medians = {group.index: group.band(AXES[EVALUATIONS]) for group in groups}
    seeds = [
        parts.line_of(
            run, f"{names[group.index]}, seed {run.seed}", group.index, is_thin=bool(medians[group.index])
        )
        for group, run in runs[:MOST_LINES]
    ]
    thick = [
        _median(group, names[group.index], medians[group.index]) for group in groups if medians[group.index]
    ]
    return (*seeds, *thick)


def _median(group: compare.Group, name: str, band: list[tuple[float, float, float, float]]) -> Line:
    """Over seeds, as far as any of them went."""
    end = max(run.spent(EVALUATIONS) for run in group.runs)
    records = tuple((x, middle) for x, middle, _, _ in band if x <= end)
    return Line(name=f"{name}, median over seeds", hue=group.index, records=records, end=end)


def _cases(groups: list[compare.Group], names: list[str], search: Search) -> tuple[CaseRow, ...]:
    sizes = parts.sizes_of(search.workload.record)
    return tuple(
        CaseRow(
            name=row.case,
            sizes=sizes[row.case],
            bars=tuple(_bar(bar, names[bar.group.index]) for bar in row.bars),
        )
        for row in by_case(groups).rows
        if row.case in sizes
    )


def _bar(bar: CaseBar, name: str) -> Bar:
    return Bar(name=name, hue=bar.group.index, speedup=bar.speedup, low=bar.low, high=bar.high)


def _result(row: Comparison, title: str, scope: Scope) -> Result:
    return result_of("comparison", searches_of(row), title, scope)


KIND = Kind(
    word="comparison",
    find=_find,
    name=lambda row: f"CMP-{row.pk}",
    address=Comparison.get_absolute_url,
    suggest=lambda row: suggest_of(searches_of(row)),
    version=lambda row: version_of(searches_of(row)),
    result=_result,
    is_one_search=False,
)
