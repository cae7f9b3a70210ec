"""The page of one candidate: result, code, diff, checks, timings, provenance, log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from kernelsite.catalog.highlight import diff, lines
from kernelsite.searches.evidence import clauses, stages, timings
from kernelsite.searches.keys import read_key
from kernelsite.searches.models import Candidate, Evaluation, Search

if TYPE_CHECKING:
    from kernelsite.accounts.middleware import TeamRequest

TABS = ("code", "diff", "checks", "timings", "provenance", "log")


@require_GET
def candidate(request: TeamRequest, key: str) -> HttpResponse:
    """A candidate as it was measured for one purpose; the letter behind the number says which."""
    row, purpose = _own(request, key)
    measured = list(row.evaluations.filter(current=True).defer("result").order_by("id"))
    evaluation = row.evaluations.filter(current=True, purpose=purpose).first()
    if evaluation is None and measured:
        raise Http404
    tab = request.GET.get("tab", TABS[0])
    tab = tab if tab in TABS else TABS[0]
    context = {
        "candidate": row,
        "structure": row.structure,
        "search": row.search,
        "evaluation": evaluation,
        "record": evaluation.record if evaluation else None,
        "measured": measured,
        "key": key,
        "tab": tab,
        "tabs": TABS,
        "neighbours": _neighbours(row),
    }
    context |= _content(request, tab, row, evaluation)
    return render(request, f"searches/candidate_{tab}.html", context)


def _own(request: TeamRequest, key: str) -> tuple[Candidate, str]:
    place = read_key(key)
    if place is None:
        raise Http404
    rows = Candidate.objects.filter(search__in=Search.objects.of_team(request.team))
    rows = rows.select_related(
        "search__workload", "search__library", "structure", "source", "parent__structure", "parent__source"
    )
    row = get_object_or_404(rows, search=place.search, structure__number=place.structure, number=place.number)
    return row, place.purpose


def _content(request: TeamRequest, tab: str, row: Candidate, evaluation: Evaluation | None) -> dict[str, Any]:
    record = evaluation.record if evaluation else None
    match tab:
        case "code":
            return {
                "sources": [
                    (file.path, lines(file.content, row.language), file.content)
                    for file in row.record.sources
                ]
            }
        case "diff":
            return _difference(row, request.GET.get("against", "parent"))
        case "checks":
            contract = row.structure.record.contract
            return {"stages": stages(record) if record else [], "clauses": clauses(contract, evaluation)}
        case "timings":
            return {"timings": timings(record) if record else []}
        case _:
            return {"attempts": row.evaluations.defer("result").order_by("id")}


def _difference(row: Candidate, against: str) -> dict[str, Any]:
    """Against the candidate it was made from, or the search's first (the direct implementation)."""
    bases = {"parent": row.parent, "direct": _first(row)}
    against = against if against in bases else "parent"
    base = bases[against]
    files = []
    if base is not None:
        before = {file["path"]: file["content"] for file in base.source.files}
        files = [
            (file["path"], diff(before.get(file["path"], ""), file["content"])) for file in row.source.files
        ]
    changed = _changed_knobs(base, row) if base is not None else []
    return {
        "base": base,
        "against": against,
        "files": files,
        "changed_knobs": changed,
        "bases": [name for name in bases if bases[name] is not None],
    }


def _first(row: Candidate) -> Candidate | None:
    rows = (
        Candidate.objects.filter(search=row.search_id)
        .exclude(pk=row.pk)
        .select_related("structure", "source")
    )
    return rows.order_by("step").first()


def _changed_knobs(base: Candidate, row: Candidate) -> list[tuple[str, object, object]]:
    names = dict.fromkeys([*base.knobs, *row.knobs])
    pairs = [
        (name, base.knobs.get(name, "\N{EN DASH}"), row.knobs.get(name, "\N{EN DASH}")) for name in names
    ]
    return [(name, before, after) for name, before, after in pairs if before != after]


def _neighbours(row: Candidate) -> dict[str, Candidate | None]:
    rows = row.structure.candidates.select_related("structure")
    return {
        "before": rows.filter(number__lt=row.number).order_by("-number").first(),
        "after": rows.filter(number__gt=row.number).order_by("number").first(),
    }
