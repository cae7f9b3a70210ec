"""The page of one structure: blueprint, contract with verdicts, code, tuning curve, what its knobs do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from kernelsite.catalog.highlight import lines
from kernelsite.searches.evidence import clauses
from kernelsite.searches.keys import read_key
from kernelsite.searches.knob_table import knob_effects
from kernelsite.searches.models import Evaluation, Search, Structure
from kernelsite.searches.rows import candidate_row, structure_row
from search.strategies import STRATEGIES

if TYPE_CHECKING:
    from django.http import HttpResponse

    from kernelsite.accounts.middleware import TeamRequest

TABS = ("blueprint", "contract", "code", "tuning")


@require_GET
def structure(request: TeamRequest, key: str) -> HttpResponse:
    """One tab at a time, each with its own address."""
    search_id, number = key.split(".")
    rows = Structure.objects.filter(search__in=Search.objects.of_team(request.team)).select_related(
        "search", "parent"
    )
    row = get_object_or_404(rows, search=int(search_id), number=int(number))
    tab = request.GET.get("tab", TABS[0])
    tab = tab if tab in TABS else TABS[0]
    best = best_evaluation(row)
    context = {
        "structure": row,
        "row": structure_row(row),
        "search": row.search,
        "tab": tab,
        "tabs": TABS,
        "best": best,
        "lineage": lineage(row),
        "children": row.children.order_by("number"),
    }
    context |= _content(tab, row, best)
    return render(request, f"searches/structure_{tab}.html", context)


def _content(tab: str, row: Structure, best: Evaluation | None) -> dict[str, Any]:
    match tab:
        case "blueprint":
            return {"blueprint": row.record, "changed": changed_choices(row)}
        case "contract":
            bound = STRATEGIES[row.search.strategy].keeps_contract
            contract = row.record.contract
            return {"contract": contract, "clauses": clauses(contract, best), "bound": bound}
        case "code":
            sources = best.candidate.record.sources if best else ()
            return {
                "sources": [
                    (file.path, lines(file.content, best.candidate.language), file.content)
                    for file in sources
                ]
                if best
                else []
            }
        case _:
            measured = measured_rows(row)
            return {"candidates": measured, "effects": knob_effects(row.record.knobs, measured)}


def best_evaluation(row: Structure) -> Evaluation | None:
    """The evaluation behind the structure's best; before there is one, its latest with a verdict of the judge."""
    rows = Evaluation.objects.filter(candidate__structure=row, current=True, result__isnull=False)
    rows = rows.select_related("candidate__structure", "candidate__source", "candidate__parent")
    if place := read_key(row.best_candidate):
        return rows.filter(candidate__number=place.number, purpose=place.purpose).first()
    return rows.order_by("-finished_at").first()


def lineage(row: Structure) -> list[Structure]:
    """From the direct implementation down to this structure."""
    path, known = [row], {row.pk}
    while (parent := path[0].parent) is not None and parent.pk not in known:
        path.insert(0, parent)
        known.add(parent.pk)
    return path


def changed_choices(row: Structure) -> dict[str, str]:
    """Decisions that differ from the parent's, with the parent's word."""
    if row.parent is None:
        return {}
    mine, before = row.blueprint["choices"], row.parent.blueprint["choices"]
    return {name: before.get(name, "not asked") for name, word in mine.items() if before.get(name) != word}


def measured_rows(row: Structure) -> list[dict[str, Any]]:
    """Every evaluation of the structure, in order of charging."""
    rows = Evaluation.objects.filter(candidate__structure=row, current=True).defer("result")
    rows = rows.select_related("candidate__structure", "step").order_by("order", "id")
    return [dict(candidate_row(each)) for each in rows]
