"""Which searches stand together: those with equal settings but the seed are one group, named by what differs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from kernelsite.compare.runs import EVALUATIONS, Axis, Run, runs_of
from kernelsite.compare.statistics import FRACTIONS, Pairing, Spread, best_at, middle_band, pair, spread
from kernelsite.compare.summary import ArmSummary, arm_summary
from kernelsite.searches.models import Search
from search.strategies import STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kernelsite.accounts.models import Team

MOST_GROUPS = 8
MOST_SEARCHES = 96
MOST_LINES = 24
"""Above so many searches their thin lines are left out; medians and bands stand for them."""
NAME_WORDS = 3
"""Differing settings that a group's name shows."""


@dataclass(frozen=True)
class Group:
    """Searches that differ in their seed only."""

    index: int
    """Place among the groups; gives the colour."""
    name: str
    searches: tuple[Search, ...]
    runs: tuple[Run, ...]
    """What each search did, in the same order."""

    @property
    def title(self) -> str:
        """The strategy in one line for people."""
        strategy = STRATEGIES.get(self.searches[0].strategy)
        return strategy.title if strategy else self.searches[0].strategy

    @cached_property
    def summary(self) -> ArmSummary:
        """Spendings and the best."""
        return arm_summary(list(self.searches))

    @property
    def cap(self) -> int:
        """Evaluations of one seed."""
        return self.searches[0].evaluations_cap

    @property
    def cap_total(self) -> int:
        """Evaluations of all seeds."""
        return sum(search.evaluations_cap for search in self.searches)

    @property
    def is_over(self) -> bool:
        """Every seed has ended."""
        return all(search.is_final for search in self.searches)

    def reach(self, axis: Axis) -> float:
        """How far every seed has got; one that has ended stays at its best."""
        furthest = max(run.spent(axis.name) for run in self.runs)
        end = float(self.cap) if axis.name == EVALUATIONS else furthest
        pairs = zip(self.searches, self.runs, strict=True)
        return min(end if search.is_final else run.spent(axis.name) for search, run in pairs)

    def band(self, axis: Axis) -> list[tuple[float, float, float, float]]:
        """Median and quartiles over seeds along an axis; empty below three seeds."""
        return middle_band([run.curve(axis.name) for run in self.runs], self.reach(axis))

    def at(self, fraction: float) -> dict[int, float | None] | None:
        """Best so far by seed at a share of the budget; None until every seed has spent that much or ended."""
        reached = all(
            search.is_final or search.evaluations_spent >= fraction * search.evaluations_cap
            for search in self.searches
        )
        if not reached:
            return None
        return {run.seed: best_at(run.curve(EVALUATIONS), fraction * self.cap) for run in self.runs}

    @property
    def finals(self) -> dict[int, float]:
        """Best of every ended seed; the confirmed one where there is one."""
        return {
            search.seed: search.best_speedup
            for search in self.searches
            if search.is_final and search.best_speedup
        }


@dataclass(frozen=True)
class Share:
    """One group at one share of the budget, beside the reference group at the same share."""

    fraction: float
    spread: Spread | None
    pairing: Pairing | None
    """None of the reference itself, and where one of the two has not got so far."""


def shares(group: Group, reference: Group) -> list[Share]:
    """Median, interval and P(better) at 25, 50 and 100 % of the budget."""
    rows = []
    for fraction in FRACTIONS:
        own, other = group.at(fraction), reference.at(fraction)
        pairing = pair(_known(own), _known(other)) if group is not reference and own and other else None
        rows.append(Share(fraction, spread(list(own.values())) if own else None, pairing))
    return rows


def _known(values: Mapping[int, float | None]) -> dict[int, float]:
    return {seed: value for seed, value in values.items() if value is not None}


def pairings(groups: Sequence[Group], reference: Group) -> list[tuple[Group, Pairing]]:
    """Every other group against the reference, over the final results of both."""
    return [(group, pair(group.finals, reference.finals)) for group in groups if group is not reference]


def selected(team: Team | None, ids: Iterable[int]) -> list[Search]:
    """The searches of a selection that the team may see, in their own order."""
    rows = Search.objects.of_team(team).listed()
    return list(rows.filter(pk__in=set(ids)).order_by("pk"))


def groups_of(searches: Sequence[Search]) -> list[Group]:
    """Groups in the order of their first search, with what every search did."""
    together: dict[str, list[Search]] = {}
    for search in searches:
        words = {name: word for name, word in settings_words(search).items() if name != "seed"}
        together.setdefault(json.dumps(words, sort_keys=True), []).append(search)
    runs = runs_of(searches)
    names = _names([json.loads(key) for key in together])
    return [
        Group(index, name, tuple(own), tuple(runs[search.pk] for search in own))
        for index, (name, own) in enumerate(zip(names, together.values(), strict=True))
    ]


def settings_words(search: Search) -> dict[str, str]:
    """Every frozen setting as `name: word`; versions instead of hashes."""
    words = _flat(search.settings, "")
    for hashed in ("workload_hash", "library_hash"):
        words.pop(hashed, None)
    words["workload"] = f"{search.workload.slug} v{search.workload.version}"
    words["library"] = f"{search.library.slug} v{search.library.version}"
    if search.endpoints:
        words["models"] = ", ".join(str(chosen["model"]) for chosen in search.endpoints)
        words["model choice"] = search.model_choice
    return words


def _flat(value: object, name: str) -> dict[str, str]:
    if isinstance(value, dict):
        found: dict[str, str] = {}
        for key, each in value.items():
            found |= _flat(each, f"{name} {key}".strip().replace("_", " ") if name else key)
        return found
    if isinstance(value, list):
        plain = all(isinstance(each, str | int | float) for each in value)
        text = " ".join(map(str, value)) if plain else json.dumps(value, sort_keys=True)
        return {name: text or "none"}
    return {name: "none" if value is None else str(value)}


def differences(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Names of settings that are not the same in all rows, the strategy first."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    found = [name for name in names if len({row.get(name) for row in rows}) > 1]
    return sorted(found, key=lambda name: name != "strategy")


def _names(rows: list[dict[str, str]]) -> list[str]:
    """What tells the groups apart; a single group is called by its strategy."""
    varied = differences(rows) or ["strategy"]
    names = []
    for row in rows:
        words = [
            row["strategy"].replace("_", " ") if name == "strategy" else f"{name} {row.get(name, 'none')}"
            for name in varied[:NAME_WORDS]
        ]
        names.append(", ".join(words)[:120])
    return names
