"""What a search has found: structures, candidates with their programs, and every attempt to measure them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any, Literal

from django.http import Http404, HttpResponse
from ninja import Path, Query, Router

from kernelsite.accounts.models import Scope
from kernelsite.api import records
from kernelsite.api.auth import demand_scope
from kernelsite.api.paging import After, Limit, onwards
from kernelsite.api.problems import problem
from kernelsite.api.schemas import CandidatePage, StructurePage
from kernelsite.api.searches import seen_search
from kernelsite.searches.models import Evaluation, Structure
from kernelsite.searches.pages.candidate import own_candidate
from kernelsite.searches.pages.downloads import candidate_file
from kernelsite.searches.pages.structure import own_structure
from kernelsite.searches.rows import candidate_row, structure_row

StructureKey = Annotated[str, Path(pattern=r"^\d{1,9}\.\d{1,6}$")]
CandidateKey = Annotated[str, Path(pattern=r"^\d{1,9}\.\d{1,6}\.\d{1,6}[a-z]?$")]
File = Literal["source", "solution", "traces", "contract", "evaluation"]

router = Router(tags=["results"])


@router.get("/searches/{int:search_id}/structures", response=StructurePage, url_name="structures")
def structures(request: Any, search_id: int, limit: Limit = 100, after: After = 0) -> dict[str, Any]:
    """Its structures by number."""
    rows = Structure.objects.filter(search=seen_search(request, search_id)).select_related("parent")
    return onwards(rows.defer("parent__blueprint"), limit, after, structure_row, by="number")


@router.get("/searches/{int:search_id}/candidates", response=CandidatePage, url_name="candidates")
def candidates(  # one parameter per filter
    request: Any,
    search_id: int,
    limit: Limit = 100,
    after: After = 0,
    structure: Annotated[int | None, Query(ge=1, le=10**6)] = None,
    status: Annotated[str, Query(max_length=30)] = "",
) -> dict[str, Any]:
    """Its candidates in the order in which they were first measured, one row per purpose."""
    rows = Evaluation.objects.filter(search=seen_search(request, search_id), current=True)
    rows = rows.select_related("candidate__structure", "step")
    rows = rows.defer("result", "candidate__structure__blueprint", "step__item", "step__proposal")
    wanted = {"candidate__structure__number": structure, "status": status or None}
    held = rows.filter(**{name: value for name, value in wanted.items() if value is not None})
    return onwards(held, limit, after, candidate_row)


@router.get("/structures/{key}", response=dict[str, Any], url_name="structure")
def structure(request: Any, key: StructureKey) -> dict[str, Any]:
    """A structure with its blueprint: choices, contract, knobs."""
    demand_scope(request, Scope.READ)
    row = own_structure(request, key)
    return {**structure_row(row), "blueprint": row.blueprint}


@router.get("/candidates/{key}", response=records.ProgramAnswer, url_name="candidate")
def candidate(request: Any, key: CandidateKey) -> dict[str, Any]:
    """A candidate with its program; the letter behind the number says for which purpose it was measured."""
    demand_scope(request, Scope.READ)
    row, purpose = own_candidate(request, key)
    found = row.evaluations.filter(current=True, purpose=purpose).defer("result")
    evaluation = found.select_related("candidate__structure", "step").first()
    if evaluation is None:
        raise Http404
    told = {name: getattr(row, name) for name in ("language", "entry_point", "hash", "note")}
    parent = row.parent.key if row.parent else None
    return {**candidate_row(evaluation), **told, "parent": parent, "sources": row.source.files}


@router.get("/candidates/{key}/evaluations", response=list[records.AttemptAnswer], url_name="evaluations")
def evaluations(request: Any, key: CandidateKey) -> list[dict[str, Any]]:
    """Every attempt to measure it, for whichever purpose."""
    demand_scope(request, Scope.READ)
    row, _ = own_candidate(request, key)
    return [_attempt(each) for each in row.evaluations.defer("result").order_by("id")]


def _attempt(row: Evaluation) -> dict[str, Any]:
    names = ("id", "purpose", "tier", "attempt", "state", "counted", "charged", "note")
    times = ("created_at", "started_at", "finished_at")
    told = {name: getattr(row, name) for name in (*names, *times)}
    return told | {"status": row.status or None, "environment": row.environment_key}


@router.get("/candidates/{key}/files/{kind}", url_name="candidate_file")
def file(request: Any, key: CandidateKey, kind: File) -> HttpResponse:
    """One of its files; `evaluation` is the judge's answer with all samples, `source` has its knobs written in."""
    demand_scope(request, Scope.READ)
    return plain_file(candidate_file(request, key, kind))


def plain_file(response: HttpResponse) -> HttpResponse:
    """A page's file, with a refusal as a problem document."""
    if response.status_code == HTTPStatus.CONFLICT:  # the format cannot say it
        return problem(HTTPStatus.CONFLICT, response.text.strip())
    return response
