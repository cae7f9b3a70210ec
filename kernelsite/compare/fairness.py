"""What must be equal for groups to be comparable, and which settings differ at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db.models import Min

from kernelsite.compare.groups import Group, differences, settings_words
from kernelsite.searches.models import Evaluation

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ENVIRONMENT_WORDS = ("device_class", "device", "driver", "runtime", "harness", "policy")
MODEL_WORDS = ("agent", "model", "provider", "temperature")
"""Settings whose name begins so say who proposed the kernels."""
MOST_SHOWN = 6


@dataclass(frozen=True)
class FairnessRow:
    """One thing that must be equal."""

    name: str
    values: tuple[str, ...]
    reason: str
    """Why the groups are not comparable when it differs."""

    @property
    def is_equal(self) -> bool:
        """It is the same everywhere, or not known of anybody yet."""
        return len(self.values) <= 1

    @property
    def shown(self) -> tuple[str, ...]:
        """The first of many values."""
        left = len(self.values) - MOST_SHOWN
        return self.values if left <= 0 else (*self.values[:MOST_SHOWN], f"{left} more")


def fairness(groups: Sequence[Group]) -> list[FairnessRow]:
    """What was held equal, and whether it was."""
    searches = [search for group in groups for search in group.searches]
    seeds = {" ".join(str(search.seed) for search in group.searches) for group in groups}
    words = [settings_words(search) for search in searches]
    models = {", ".join(f"{k} {v}" for k, v in sorted(row.items()) if _is_model(k)) for row in words}
    return [
        _row("budget", (f"{search.evaluations_cap} evaluations" for search in searches), "budgets differ"),
        _row("seeds", seeds, "the groups have other seeds"),
        _row("workload", (row["workload"] for row in words), "workloads or their versions differ"),
        _row("action library", (row["library"] for row in words), "action libraries differ"),
        _row("agent and models", models, "agents or models differ"),
        _row("device class", (search.device_class for search in searches), "device classes differ"),
        _row("measured on", _environments(groups), "devices, drivers or judges differ"),
    ]


def _row(name: str, values: Iterable[str], reason: str) -> FairnessRow:
    return FairnessRow(name, tuple(sorted(set(values))), reason)


def _is_model(name: str) -> bool:
    return name.startswith(MODEL_WORDS)


def _environments(groups: Sequence[Group]) -> set[str]:
    """Every environment that a result came from, in words."""
    keys = {each.environment for group in groups for run in group.runs for each in run.charged} - {""}
    searches = [search.pk for group in groups for search in group.searches]
    rows = Evaluation.objects.filter(search__in=searches, environment_key__in=keys, result__isnull=False)
    firsts = rows.order_by().values("environment_key").annotate(first=Min("pk")).values_list("first")
    found = Evaluation.objects.filter(pk__in=[pk for (pk,) in firsts])
    return {environment_words(document) for document in found.values_list("result__environment", flat=True)}


def environment_words(environment: dict[str, Any]) -> str:
    """What a result was measured on, in words."""
    return ", ".join(str(environment[name]) for name in ENVIRONMENT_WORDS if environment.get(name))


@dataclass(frozen=True)
class Difference:
    """A setting that is not the same in all groups."""

    name: str
    values: tuple[str, ...]
    """In the order of the groups."""


def settings_diff(groups: Sequence[Group]) -> list[Difference]:
    """Only what differs, seeds apart."""
    rows = [settings_words(group.searches[0]) for group in groups]
    for row in rows:
        row.pop("seed", None)
    return [Difference(name, tuple(row.get(name, "none") for row in rows)) for name in differences(rows)]
