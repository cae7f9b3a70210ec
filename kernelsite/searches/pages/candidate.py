"""The page of one candidate: result, code, diff, checks, timings, provenance, log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from kernelsite.catalog.plain import tidy_log
from kernelsite.searches import evidence
from kernelsite.searches.keys import read_key
from kernelsite.searches.models import Candidate, Evaluation, ModelCall, Search
from kernelsite.searches.models.work import PURPOSE_SUFFIX
from kernelsite.searches.pages import takeaway
from kernelsite.searches.pages.differences import difference
from kernelsite.searches.pages.ordering import SORTS, neighbours
from kernelsite.searches.pages.sources import shown_sources
from kernelsite.searches.pages.timings import timings

if TYPE_CHECKING:
    from kernelsite.accounts.middleware import TeamRequest
    from search.records import Evaluation as Record

TABS = ("code", "diff", "checks", "timings", "provenance", "log")


@require_GET
def candidate(request: TeamRequest, key: str) -> HttpResponse:
    """A candidate as it was measured for one purpose; the letter behind the number says which."""
    row, purpose = own_candidate(request, key)
    measured = list(row.evaluations.filter(current=True).defer("result").order_by("id"))
    evaluation = row.evaluations.filter(current=True, purpose=purpose).first()
    if evaluation is None and measured:
        raise Http404
    record = evidence.record_of(evaluation)
    tab = request.GET.get("tab", TABS[0])
    tab = tab if tab in TABS else TABS[0]
    sort = request.GET.get("sort", "")
    context = {
        "candidate": row,
        "structure": row.structure,
        "search": row.search,
        "evaluation": evaluation,
        "record": record,
        "is_unreadable": record is None and evaluation is not None and evaluation.result is not None,
        "measured": [(each, row.key + PURPOSE_SUFFIX[each.purpose]) for each in measured],
        "key": key,
        "tab": tab,
        "tabs": [name for name in TABS if _is_shown(name, record)],
        "sort": sort if sort in SORTS else "",
        "neighbours": neighbours(evaluation, row.structure, sort) if evaluation else None,
        "rightness": evidence.rightness(record, row.search.workload.record),
        "pairs": sum(case.samples for case in record.cases) if record else 0,
        "downloads": takeaway.offered(row, evaluation),
    }
    context |= _content(request, tab, row, evaluation, record)
    return render(request, f"searches/candidate_{tab}.html", context)


def own_candidate(request: TeamRequest, key: str) -> tuple[Candidate, str]:
    """The candidate of the request's team and the purpose that its short id names, or a 404."""
    place = read_key(key)
    if place is None:
        raise Http404
    rows = Candidate.objects.filter(search__in=Search.objects.of_team(request.team))
    rows = rows.select_related(
        "search__workload", "search__library", "structure", "source", "parent__structure", "parent__source"
    )
    row = get_object_or_404(rows, search=place.search, structure__number=place.structure, number=place.number)
    return row, place.purpose


def _is_shown(tab: str, record: Record | None) -> bool:
    """Tabs whose data is not there are not offered."""
    match tab:
        case "checks" | "timings":
            return record is not None
        case "log":
            return record is not None and bool(record.log)
        case _:
            return True


def _content(
    request: TeamRequest, tab: str, row: Candidate, evaluation: Evaluation | None, record: Record | None
) -> dict[str, Any]:
    match tab:
        case "code":
            return {"sources": shown_sources(row)}
        case "diff":
            return _diff(request, row)
        case "checks":
            return _checks(row, record)
        case "timings":
            return {"timings": timings(record) if record else []}
        case "log":
            return {"log": tidy_log(record.log) if record else ""}
        case _:
            return {
                "attempts": row.evaluations.defer("result").order_by("id"),
                "calls": calls_of(row),
                "command": takeaway.command(row, evaluation),
            }


def calls_of(row: Candidate) -> list[ModelCall]:
    """Calls to models that brought the program, without their texts; none of a variant or the playbook."""
    rows = ModelCall.objects.filter(search=row.search_id, step__number=row.step).without_texts()
    return list(rows.order_by("id"))


def _diff(request: TeamRequest, row: Candidate) -> dict[str, Any]:
    return difference(
        row,
        request.team,
        request.GET.get("against", "parent"),
        whole=request.GET.get("lines") == "all",
        beside=request.GET.get("view") == "split",
    )


def _checks(row: Candidate, record: Record | None) -> dict[str, Any]:
    workload = row.search.workload.record
    cases = evidence.case_rows(record, workload)
    return {
        "stages": evidence.stages(record) if record else [],
        "clauses": evidence.clauses(row.structure.record.contract, record),
        "cases": cases,
        "has_errors": any(case.outputs for case in cases),
        "kernels": evidence.kernels(record),
    }
