"""Long-term memory of a team: what each action brought in its finished searches, and never in another team's."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

from kernelsite.searches.models import Search, Structure
from search.agents.agent import Experience
from search.records import SearchState
from search.traits import traits

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

SEARCHES = 100
"""Latest finished searches that are looked at."""


def experience_of(search: Search) -> tuple[Experience, ...]:
    """Rows for the traits of the search's workload on its device class, most trials first.

    What was learned before the search began, so that its prompts do not change under it; a replay remembers what
    the replayed search did.
    """
    finished = Search.objects.filter(
        team=search.team_id,
        device_class=search.device_class,
        state=SearchState.FINISHED,
        finished_at__lte=_began(search),
    )
    latest = list(finished.order_by("-id").select_related("workload")[:SEARCHES])
    shared = {row.pk: _traits(row) & _traits(search) for row in latest}
    gains: dict[tuple[str, str], list[float]] = defaultdict(list)
    for child in _grown(pk for pk, common in shared.items() if common):
        for action in _added(child):
            for trait in shared[child.search_id]:
                gains[action, trait].append(_log_gain(child))
    rows = [_row(action, trait, search.device_class, logs) for (action, trait), logs in gains.items()]
    return tuple(sorted(rows, key=lambda row: (-row.trials, row.action, row.trait)))


def _began(search: Search) -> datetime:
    kind, _, source = search.transcript.partition(":")
    if kind == "search" and (replayed := Search.objects.filter(pk=int(source), team=search.team_id).first()):
        return replayed.created_at
    return search.created_at


def _traits(search: Search) -> set[str]:
    return set(traits(search.workload.record))


def _grown(searches: Iterable[int]) -> Iterable[Structure]:
    """Structures that were measured and whose parent was."""
    rows = Structure.objects.filter(search__in=list(searches), best_speedup__gt=0, parent__best_speedup__gt=0)
    return rows.select_related("parent").order_by("id")


def _added(child: Structure) -> set[str]:
    assert child.parent is not None  # the query says so
    return set(child.actions) - set(child.parent.actions)


def _log_gain(child: Structure) -> float:
    assert child.parent is not None
    assert child.best_speedup
    assert child.parent.best_speedup
    return math.log(child.best_speedup / child.parent.best_speedup)


def _row(action: str, trait: str, device_class: str, logs: list[float]) -> Experience:
    return Experience(
        action=action,
        trait=trait,
        device_class=device_class,
        gain=math.exp(sum(logs) / len(logs)),
        trials=len(logs),
        wins=sum(log > 0 for log in logs),
    )
