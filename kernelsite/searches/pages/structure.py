"""The page of one structure: blueprint, contract with verdicts, code, what tuning found, profile against the parent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.db.models import F
from django.db.models.fields.json import KT
from django.http import HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from kernelsite.searches.evidence import clauses, record_of
from kernelsite.searches.keys import read_key
from kernelsite.searches.knob_table import knob_effects
from kernelsite.searches.models import Evaluation, Search, Structure
from kernelsite.searches.models.work import PURPOSE_SUFFIX
from kernelsite.searches.pages import ordering, tuning
from kernelsite.searches.pages.diagram import diagram
from kernelsite.searches.pages.lineage import children, lineage
from kernelsite.searches.pages.profile import Side, profile
from kernelsite.searches.pages.sources import shown_sources
from kernelsite.searches.pages.transcript import has_transcript, transcript
from kernelsite.searches.rows import candidate_row, structure_row
from search.records import EvaluationStatus, Purpose
from search.strategies import STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest, HttpResponse

    from kernelsite.accounts.middleware import TeamRequest
    from search.workload import Case

VIOLATIONS_SHOWN = 20
CHART_ROWS = 1_000
"""Points of the tuning curve; of more candidates those that set no record are thinned out."""


@require_GET
def structure(request: TeamRequest, key: str) -> HttpResponse:
    """One tab at a time, each with its own address."""
    row = own_structure(request, key)
    best = best_evaluation(row)
    tabs = [name for name, is_there in SHOWN.items() if is_there(row, best)]
    tab = request.GET.get("tab", tabs[0])
    tab = tab if tab in TABS else tabs[0]
    if tab == "candidates" and (target := _jump(request, row)):
        return HttpResponseRedirect(target)
    context = {
        "structure": row,
        "row": structure_row(row),
        "search": row.search,
        "tab": tab,
        "tabs": tabs,
        "best": best,
        "lineage": lineage(row),
    }
    context |= TABS[tab](request, row, best)
    return render(request, f"searches/structure_{tab}.html", context)


def own_structure(request: TeamRequest, key: str) -> Structure:
    """The structure of the request's team with what its page reads, or a 404."""
    search_id, number = key.split(".")
    rows = Structure.objects.filter(search__in=Search.objects.of_team(request.team))
    rows = rows.select_related("search__workload", "search__library", "parent")
    return get_object_or_404(rows, search=int(search_id), number=int(number))


def best_evaluation(row: Structure) -> Evaluation | None:
    """The evaluation behind the structure's best; before there is one, its latest with a verdict of the judge."""
    rows = Evaluation.objects.filter(candidate__structure=row, current=True, result__isnull=False)
    rows = rows.select_related("candidate__structure", "candidate__source", "candidate__parent")
    if place := read_key(row.best_candidate):
        return rows.filter(candidate__number=place.number, purpose=place.purpose).first()
    return rows.order_by("-finished_at").first()


# Tabs ----------------------------------------------------------------------------------------------


def _blueprint(request: HttpRequest, row: Structure, best: Evaluation | None) -> dict[str, Any]:
    workload = row.search.workload.record
    cases = [case for case in workload.cases if not case.hidden]
    picture = diagram(
        row.record,
        workload,
        _chosen(request, cases),
        parent=row.parent.record if row.parent else None,
        knobs=best.candidate.knobs if best else None,
        device_class=row.search.device_class,
    )
    return {
        "blueprint": row.record,
        "changed": changed_choices(row),
        "diagram": picture,
        "cases": [case.name for case in cases],
        "memory": "main" if row.search.device_class == "cpu" else "global",
        "children": children(row),
    }


def _chosen(request: HttpRequest, cases: list[Case]) -> Case:
    wanted = request.GET.get("case", "")
    return next((case for case in cases if case.name == wanted), cases[0])


def _contract(request: HttpRequest, row: Structure, best: Evaluation | None) -> dict[str, Any]:
    contract = row.record.contract
    return {
        "contract": contract,
        "clauses": clauses(contract, record_of(best)),
        "bound": STRATEGIES[row.search.strategy].keeps_contract,
        "violations": _violations(row),
    }


def _violations(row: Structure) -> list[Evaluation]:
    """Candidates that broke the contract, the latest first, with the judge's word as `told`."""
    rows = Evaluation.objects.filter(
        candidate__structure=row, current=True, status=EvaluationStatus.CONTRACT_VIOLATION
    )
    rows = rows.annotate(told=KT("result__message")).defer("result").select_related("candidate__structure")
    return list(rows.order_by("-id")[:VIOLATIONS_SHOWN])


def _code(request: HttpRequest, row: Structure, best: Evaluation | None) -> dict[str, Any]:
    return {
        "candidate": best.candidate if best else None,
        "sources": shown_sources(best.candidate) if best else [],
    }


def _tuning(request: HttpRequest, row: Structure, best: Evaluation | None) -> dict[str, Any]:
    measured = measured_rows(row)
    knobs = row.record.knobs
    points = tuning.points_of(knobs, measured)
    importances = tuning.importances(points)
    names = [one.knob for one in importances]
    return {
        "chart": chart_rows(measured),
        "count": len(measured),
        "effects": knob_effects(knobs, measured),
        "importances": importances,
        "points": len(points),
        "coordinates": tuning.parallel_coordinates(points, names),
        "heat": tuning.heat_map(points, names, request.GET.get("x", ""), request.GET.get("y", "")),
    }


def _candidates(request: HttpRequest, row: Structure, best: Evaluation | None) -> dict[str, Any]:
    sort = request.GET.get("sort", "measured")
    outcome = request.GET.get("outcome", "all")
    rows = ordering.ordered(row, sort, outcome)
    page = ordering.page_of(rows, request.GET.get("page", "1"))
    return {
        "page": page,
        "candidates": [candidate_row(each) for each in page],
        "heads": ordering.heads(),
        "sort": sort if sort in ordering.SORTS else "measured",
        "outcomes": list(ordering.FILTERS),
        "outcome": outcome if outcome in ordering.FILTERS else "all",
        "jump": request.GET.get("jump", "")[:40],
    }


def _jump(request: HttpRequest, row: Structure) -> str | None:
    """Address of the page that holds the wanted candidate."""
    words = request.GET.get("jump", "")[:40]
    sort = request.GET.get("sort", "measured")
    found = ordering.page_holding(ordering.ordered(row, sort), row, words) if words else None
    if found is None:
        return None
    page, key = found
    query = urlencode({"tab": "candidates", "sort": sort, "page": page})
    return f"{row.get_absolute_url()}?{query}#C-{key}"


def _profile(request: HttpRequest, row: Structure, best: Evaluation | None) -> dict[str, Any]:
    workload = row.search.workload.record
    cases = [case for case in workload.cases if not case.hidden]
    before = best_evaluation(row.parent) if row.parent else None
    mine = Side(row.record, record_of(best))
    parent = Side(row.parent.record, record_of(before)) if row.parent else None
    groups = profile(mine, parent, workload, _chosen(request, cases), row.search.device_class)
    return {"groups": groups, "before": before}


def _transcript(request: HttpRequest, row: Structure, best: Evaluation | None) -> dict[str, Any]:
    return transcript(row, request.GET.get("page", "1"))


# What tabs show ------------------------------------------------------------------------------------


def changed_choices(row: Structure) -> dict[str, str]:
    """Decisions that differ from the parent's, with the parent's word."""
    if row.parent is None:
        return {}
    mine, before = row.blueprint["choices"], row.parent.blueprint["choices"]
    return {name: before.get(name, "not asked") for name, word in mine.items() if before.get(name) != word}


def measured_rows(row: Structure) -> list[dict[str, Any]]:
    """Every evaluation of the structure in order of charging, as `candidate_row` names its fields; no objects."""
    rows = Evaluation.objects.filter(candidate__structure=row, current=True).order_by("order", "id")
    own = ("purpose", "status", "speedup", "low", "high", "median_us", "order", "device_seconds")
    number, knobs, stage = F("candidate__number"), F("candidate__knobs"), F("step__stage")
    found: list[dict[str, Any]] = list(rows.values(*own, number=number, knobs=knobs, stage=stage))
    for each in found:
        each["id"] = f"{row.key}.{each['number']:03d}{PURPOSE_SUFFIX[each['purpose']]}"
    return found


def chart_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the tuning curve is drawn from: every record, and of the others as many as a chart bears."""
    kept, best = [], 0.0
    counted = [row for row in rows if row["order"] is not None]
    stride = max(1, -(-len(counted) // CHART_ROWS))
    for own, row in enumerate(counted, start=1):
        passed = row["status"] == EvaluationStatus.PASSED and row["purpose"] == Purpose.SEARCH
        is_record = passed and row["speedup"] > best
        best = row["speedup"] if is_record else best
        if is_record or own % stride == 0 or row["purpose"] != Purpose.SEARCH:
            kept.append({name: row[name] for name in CHARTED} | {"own": own})
    return kept


CHARTED = (
    "id",
    "purpose",
    "stage",
    "status",
    "speedup",
    "low",
    "high",
    "median_us",
    "device_seconds",
    "knobs",
)

TABS: dict[str, Callable[[HttpRequest, Structure, Evaluation | None], dict[str, Any]]] = {
    "blueprint": _blueprint,
    "contract": _contract,
    "code": _code,
    "tuning": _tuning,
    "candidates": _candidates,
    "profile": _profile,
    "transcript": _transcript,
}
"""What each tab adds to the page's context."""

SHOWN: dict[str, Callable[[Structure, Evaluation | None], bool]] = {
    "blueprint": lambda row, best: True,
    "contract": lambda row, best: True,
    "code": lambda row, best: best is not None,
    "tuning": lambda row, best: row.evaluation_count > 0,
    "candidates": lambda row, best: row.candidate_count > 0,
    "profile": lambda row, best: row.passed_count > 0,
    "transcript": lambda row, best: has_transcript(row),
}
"""Tabs whose data is not there are not offered."""
