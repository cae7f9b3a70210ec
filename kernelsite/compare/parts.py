"""Structures and candidates side by side, of any searches of the team: `?p=ST-12.3,C-14.2.007`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db.models import F, Q
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from kernelsite.compare.fairness import Difference, FairnessRow, environment_words
from kernelsite.compare.groups import MOST_GROUPS, differences
from kernelsite.compare.plots import part_curves
from kernelsite.searches.keys import read_key
from kernelsite.searches.models import Evaluation, Structure
from search.records import EvaluationStatus, Purpose

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from django.http import HttpResponse, QueryDict

    from kernelsite.accounts.middleware import TeamRequest
    from kernelsite.accounts.models import Team

WISH = re.compile(r"(?:ST-?|C-?)?(\d{1,9}\.\d{1,6})(\.\d{1,6}[a-z]?)?", re.IGNORECASE)


@dataclass(frozen=True)
class Part:
    """A structure with its best candidate, or one candidate."""

    index: int
    """Place among the parts; gives the colour."""
    structure: Structure
    evaluation: Any
    """The row that stands for it, with `environment` and `cases` out of its result; None when nothing was measured."""
    is_structure: bool
    curve: list[tuple[float, float]]
    """Best so far against the structure's own evaluations; of structures only."""

    @property
    def name(self) -> str:
        """Short id."""
        return f"ST-{self.structure.key}" if self.is_structure else f"C-{self.evaluation.key}"

    @property
    def address(self) -> str:
        """Its own page."""
        if self.is_structure:
            return self.structure.get_absolute_url()
        return reverse("searches:candidate", args=[self.evaluation.key])

    @property
    def cases(self) -> dict[str, float]:
        """Speed-up by case."""
        rows = self.evaluation.cases if self.evaluation else None
        return {str(row["case"]): float(row["speedup"]["value"]) for row in rows or []}

    @property
    def choices(self) -> dict[str, str]:
        """What the structure decides."""
        return {name: str(value) for name, value in self.structure.blueprint.get("choices", {}).items()}

    @property
    def knobs(self) -> dict[str, str]:
        """Values of the candidate that stands for it."""
        values = self.evaluation.candidate.knobs if self.evaluation else {}
        return {name: str(value) for name, value in values.items()}


@dataclass(frozen=True)
class CaseLine:
    """One case with each part's speed-up in it."""

    case: str
    bars: tuple[tuple[Part, float | None], ...]


def wishes(query: QueryDict) -> list[str]:
    """Ids of `?p=`, as `12.3` or `12.3.007c`; other words are passed over, and no more than may be shown are taken."""
    words = [word.strip() for text in query.getlist("p") for word in re.split(r"[,\s]+", text)]
    found = [(match[1] + (match[2] or "")).lower() for word in words if (match := WISH.fullmatch(word))]
    return list(dict.fromkeys(found))[:MOST_GROUPS]


def parts_of(team: Team | None, ids: Sequence[str]) -> list[Part]:
    """What the ids name, in their order, in three queries; what the team does not have is left out."""
    structures = _structures(team, {".".join(each.split(".")[:2]) for each in ids})
    keys = [each if each.count(".") == 2 else _best_of(structures.get(each)) for each in ids]
    evaluations = _evaluations(structures.values(), {key for key in keys if key})
    curves = _curves([row for key, row in structures.items() if key in ids])
    found: list[Part] = []
    for wish, key in zip(ids, keys, strict=True):
        structure = structures.get(".".join(wish.split(".")[:2]))
        is_structure = wish.count(".") == 1
        if structure is not None and (is_structure or key in evaluations):
            row = evaluations.get(key)
            curve = curves.get(structure.pk, []) if is_structure else []
            found.append(Part(len(found), structure, row, is_structure, curve))
    return found


def _best_of(structure: Structure | None) -> str:
    return structure.best_candidate if structure else ""


def _structures(team: Team | None, keys: Iterable[str]) -> dict[str, Structure]:
    places = Q(pk__in=[])
    for key in keys:
        search, number = key.split(".")
        places |= Q(search=int(search), number=int(number))
    rows = Structure.objects.filter(places, search__team=team).select_related(
        "search__workload", "search__library"
    )
    rows = rows.defer("search__workload__document", "search__library__document", "search__settings")
    return {row.key: row for row in rows}


def _evaluations(structures: Iterable[Structure], keys: Iterable[str]) -> dict[str, Any]:
    """Rows by short id; results hold samples, so only what is shown is read of them."""
    places = Q(pk__in=[])
    for place in filter(None, map(read_key, keys)):
        places |= Q(
            search=place.search, candidate__structure__number=place.structure, candidate__number=place.number,
            purpose=place.purpose,
        )  # fmt: skip
    own = Evaluation.objects.filter(
        places, candidate__structure__in=[row.pk for row in structures], current=True
    )
    told = own.annotate(environment=F("result__environment"), cases=F("result__cases"))
    return {row.key: row for row in told.select_related("candidate__structure").defer("result")}


def _curves(structures: Sequence[Structure]) -> dict[int, list[tuple[float, float]]]:
    rows = Evaluation.objects.filter(
        candidate__structure__in=[row.pk for row in structures], order__isnull=False, purpose=Purpose.SEARCH
    )
    columns = rows.order_by("order").values_list("candidate__structure", "status", "speedup")
    curves: dict[int, list[tuple[float, float]]] = {}
    counts: dict[int, int] = {}
    for structure, status, speedup in columns:
        counts[structure] = counts.get(structure, 0) + 1
        curve = curves.setdefault(structure, [])
        best = curve[-1][1] if curve else 0.0
        if status == EvaluationStatus.PASSED and speedup:
            best = max(best, speedup)
        if best:
            curve.append((float(counts[structure]), best))
    return curves


def _fairness(parts: Sequence[Part]) -> list[FairnessRow]:
    """What must be equal for two times to be compared."""
    rows = [part.evaluation for part in parts if part.evaluation]
    searches = [part.structure.search for part in parts]
    names = (f"{search.workload.slug} v{search.workload.version}" for search in searches)
    told = {
        "workload": (names, "workloads or their versions differ"),
        "device class": ((search.device_class for search in searches), "device classes differ"),
        "measured on": (
            (environment_words(row.environment) for row in rows if row.environment), "devices, drivers or judges differ"
        ),
        "baseline": ((row.baseline for row in rows if row.baseline), "speed-ups are over different baselines"),
        "tier": ((row.tier for row in rows), "some were measured at the fast tier, some at the full one"),
    }  # fmt: skip
    return [FairnessRow(name, tuple(sorted(set(values))), why) for name, (values, why) in told.items()]


def _cases(parts: Sequence[Part]) -> list[CaseLine]:
    names = sorted({name for part in parts for name in part.cases})
    return [CaseLine(name, tuple((part, part.cases.get(name)) for part in parts)) for name in names]


def _differing(rows: Sequence[Mapping[str, str]]) -> list[Difference]:
    names = sorted(differences(rows))
    return [Difference(name, tuple(row.get(name, "none") for row in rows)) for name in names]


@require_GET
def parts(request: TeamRequest) -> HttpResponse:
    """The page; without ids it says how to name some."""
    wanted = wishes(request.GET)
    found = parts_of(request.team, wanted)
    fairness = _fairness(found)
    cases = _cases(found)
    context = {
        "parts": found,
        "picked": ", ".join(part.name for part in found),
        "missing": len(wanted) - len(found),
        "most": MOST_GROUPS,
        "fairness": fairness,
        "unfair": [row for row in fairness if not row.is_equal],
        "plot": part_curves([(part.index, part.name, part.curve) for part in found if part.curve]),
        "cases": cases,
        "top": max((speedup or 0.0 for line in cases for _, speedup in line.bars), default=1.0),
        "choices": _differing([part.choices for part in found]),
        "knobs": _differing([part.knobs for part in found]),
        "candidates": list(
            {part.evaluation.key: part.evaluation for part in found if part.evaluation}.values()
        ),
    }
    return render(request, "compare/parts.html", context)
