"""The live page of one search: a snapshot as tables, which JavaScript then keeps up to date."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from django.core.exceptions import BadRequest
from django.db.models import Min
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from kernelsite.searches import beliefs, drafts, log_views, snapshot, spending
from kernelsite.searches.models import Evaluation, Search
from kernelsite.searches.outline import board, failures, outline
from kernelsite.searches.pages.first_picture import first_picture
from kernelsite.searches.pages.transcript import models_of
from kernelsite.searches.scene import WITH_A_MODEL
from search.records import SearchState
from search.strategies import STRATEGIES

if TYPE_CHECKING:
    from django.http import HttpResponse

    from kernelsite.accounts.middleware import TeamRequest
    from kernelsite.searches.snapshot import EventRow, Snapshot
    from search.settings import SearchSettings

ROWS_WITHOUT_SCRIPT = 200
BUTTONS = (("pause", "Pause", "pause"), ("resume", "Resume", "play"), ("stop", "Stop", "stop"))
PAUSABLE = (SearchState.QUEUED, SearchState.RUNNING, SearchState.WAITING)
ALLOWED = {
    "pause": PAUSABLE,
    "resume": (SearchState.PAUSED, SearchState.PAUSING),
    "stop": (*PAUSABLE, SearchState.PAUSING, SearchState.PAUSED),
}
OTHER_AXES = {"x", "y", "log"}
"""Words of the address by which scripts show other axes than the server's picture has."""
BUDGETS = (("evaluations", "Evaluations"), ("device_seconds", "Device time"), ("wall_seconds", "Wall clock"))
JUDGE_WORDS = ("device", "driver", "runtime", "harness", "policy")
MOST_JUDGES = 8
FAMILIES = (
    ("", "All"),
    ("search.", "Search"),
    ("structure.", "Structures"),
    ("candidate.", "Candidates"),
    ("evaluation.", "Evaluations"),
    ("step.", "Steps"),
)


@require_GET
def search(request: TeamRequest, search_id: int) -> HttpResponse:
    """Everything about a search, as it stands now."""
    rows = Search.objects.of_team(request.team).select_related(
        "workload", "library", "comparison", "created_by"
    )
    row = get_object_or_404(rows.defer(*snapshot.DOCUMENTS), pk=search_id)
    document = snapshot.take(row.pk)
    log = _log(request, document)
    candidates = sorted(document["candidates"], key=lambda each: each["order"] or 10**9, reverse=True)
    failed = failures(document["candidates"], document["samples"])
    floor = row.record.stages.floor_speedup
    context = {
        "row": row,
        "snapshot": document,
        "search": document["search"],
        "structures": outline(document["structures"]),
        "board": board(document["structures"]),
        "log": log,
        "earlier": log[0]["s"] if log and log[0]["s"] > 1 else None,
        "stages": spending.by_stage(document["candidates"]),
        "axes": spending.caps(document["search"]),
        "beliefs": beliefs.timeline(row) if row.strategy in beliefs.HOLDERS else None,
        "floor": floor,
        "first": None if request.GET.keys() & OTHER_AXES else first_picture(document, floor),
        "candidates": candidates[:ROWS_WITHOUT_SCRIPT],
        "candidate_count": len(candidates),
        "failures": failed,
        "failure_count": sum(len(group["rows"]) for group in failed) + len(document["drafts"]),
        "strategy": STRATEGIES.get(row.strategy),
        "command": reproduction(row.record),
    }
    context |= controls(row, document) | empty_drafts(document)
    if row.agent in WITH_A_MODEL:  # others made no call to add up
        context |= models_of(row)
    return render(request, "searches/search.html", context)


def empty_drafts(document: Snapshot) -> dict[str, object]:
    """Drafts that brought no program, and the words about them for templates and scripts."""
    rows = document["drafts"]
    return {
        "failed_drafts": drafts.groups(rows),
        "explanation": drafts.explanation(document["search"], rows, document["candidates"]),
        "draft_words": {cause: words._asdict() for cause, words in drafts.WORDS.items()},
    }


def _log(request: TeamRequest, document: Snapshot) -> list[EventRow]:
    """The log's tail, or, for readers without JavaScript, the stretch that the address asks for."""
    try:
        page = log_views.read_page(request.GET)
    except ValueError as error:
        raise BadRequest(str(error)) from error
    if page.before is None:
        return document["events"]
    return page.rows(document["search"]["id"], log_views.PER_ANSWER)


def controls(row: Search, document: Snapshot) -> dict[str, object]:
    """Buttons, bars and filters around what was found."""
    return {
        "families": FAMILIES,
        "buttons": BUTTONS,
        "allowed": [action for action, states in ALLOWED.items() if row.state in states],
        "budgets": [(name, title, document["search"]["budget"][name]) for name, title in BUDGETS],
        "settings": list(row.settings.items()),
        "code": row.events.filter(seq=1).values_list("payload__code", flat=True).first(),
        "judges": judges(row),
    }


def judges(row: Search) -> list[str]:
    """Every environment that a result came from: device, driver, runtime and version of the judge, in words."""
    rows = Evaluation.objects.filter(search=row, result__isnull=False).exclude(environment_key="")
    firsts = rows.order_by().values("environment_key").annotate(first=Min("pk")).values("first")[:MOST_JUDGES]
    found = (
        Evaluation.objects.filter(pk__in=firsts).order_by("pk").values_list("result__environment", flat=True)
    )
    return [", ".join(str(each[name]) for name in JUDGE_WORDS if each.get(name)) for each in found if each]


def reproduction(settings: SearchSettings) -> str:
    """The command line that makes the same search in one process, as far as words can say it."""
    options = {
        "workload": settings.workload,
        "strategy": settings.strategy,
        "agent": settings.agent,
        "device": settings.device_class,
        "budget": str(settings.budget.evaluations),
        "seed": str(settings.seed),
    }
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    return shlex.join(["python", "manage.py", "run_search", *words, "--json"])
