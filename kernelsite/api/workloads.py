"""Workloads over the API: list, document, export, import, and the report of an import."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from django.shortcuts import get_object_or_404
from ninja import File, Form, Query, Router, Schema, Status, UploadedFile
from ninja.errors import HttpError
from pydantic import Field

from kernelsite.accounts.models import Scope
from kernelsite.accounts.roles import Act, may
from kernelsite.api.auth import demand_act, demand_scope
from kernelsite.api.paging import Before, Limit, newest
from kernelsite.api.schemas import Page
from kernelsite.catalog import exports, import_pages
from kernelsite.catalog.imports import LIMITS, Outcomes
from kernelsite.catalog.library_pages import download
from kernelsite.catalog.models import WorkloadImport, WorkloadVersion
from kernelsite.catalog.probes import ProbeRefusedError, check_class
from kernelsite.catalog.views import version_of
from search.formats.containers import UploadError
from search.formats.format import FormatError

if TYPE_CHECKING:
    from django.http import HttpResponse

    from kernelsite.catalog.models import VersionQuerySet
    from search.formats.probes import ProbeTask

router = Router(tags=["workloads"])
UNPROCESSABLE, CONFLICT, TOO_LARGE = 422, 409, 413
Number = Annotated[int | None, Query(ge=1, le=10**6, description="the newest where it is left out")]


class VersionRow(Schema):
    """A version of a workload; `shipped` ones came with Kernelsite."""

    name: Annotated[str, Field(examples=["softmax@1"])]
    title: str
    op_type: str
    hash: str
    shipped: bool


class VersionPage(Page):
    """One page of them."""

    items: list[VersionRow]


class ImportOptions(Schema):
    """How an upload is taken in."""

    format: Annotated[str, Field(max_length=40, description="recognised where it is left out")] = ""
    publish: Annotated[bool, Field(description="publish the drafts in which nothing is wrong")] = False
    run_on: Annotated[
        str,
        Field(
            max_length=50,
            description="device class that runs the programs which only a run explains; none are run where it is left out",
        ),
    ] = ""
    profile_on: Annotated[
        str,
        Field(
            max_length=50,
            description="device class that ranks the operators of Python programs; none are ranked where it is left out",
        ),
    ] = ""


class ImportRow(Schema):
    """What became of each thing of an upload; `published` names the versions that it led to."""

    id: int
    name: str
    format: str
    report: dict[str, Any]
    published: list[str] = []


@router.get("/workloads", response=VersionPage, url_name="workloads")
def workloads(request: Any, limit: Limit = 50, before: Before = None) -> dict[str, Any]:
    """Every version that the team may use, newest first."""
    demand_scope(request, Scope.READ)
    rows = WorkloadVersion.objects.visible_to(request.team).defer("document")
    return newest(rows, limit, before, _row)


def _row(row: WorkloadVersion) -> dict[str, Any]:
    words = {name: getattr(row, name) for name in ("title", "op_type", "hash")}
    return {"name": row.short, "shipped": row.team_id is None, **words}


@router.post("/workloads/import", response={201: ImportRow}, url_name="workload_import")
def take_in(
    request: Any,
    file: Annotated[UploadedFile, File(description="a file, JSON Lines, or a ZIP of a folder")],
    options: Annotated[ImportOptions, Form()],
) -> Status[ImportRow]:
    """Take in an upload: each workload becomes a draft, each program a starting candidate. The same again changes nothing."""
    demand_act(request, Act.WRITE_WORKLOADS)
    if (file.size or 0) > LIMITS.total_bytes:
        raise HttpError(TOO_LARGE, f"longer than {LIMITS.total_bytes} bytes")
    name = file.name or "upload"
    try:
        asked: dict[ProbeTask, str] = {"shapes": options.run_on, "profile": options.profile_on}
        on = {task: check_class(wanted) for task, wanted in asked.items() if wanted}
        made = import_pages.take(request, request.team, file.read(), name, options.format, on)
    except (UploadError, ProbeRefusedError) as error:
        raise HttpError(UNPROCESSABLE, str(error)) from error
    told = _import(made)
    if options.publish:
        told.published = [version.short for version in import_pages.published(request, made)]
    return Status(201, told)


@router.get("/workloads/imports/{int:import_id}", response=ImportRow, url_name="workload_import_report")
def report(request: Any, import_id: int) -> ImportRow:
    """What became of each thing of an earlier import."""
    demand_scope(request, Scope.READ)
    return _import(get_object_or_404(WorkloadImport.objects.of_team(request.team), pk=import_id))


def _import(row: WorkloadImport) -> ImportRow:
    return ImportRow(id=row.pk, name=row.name, format=row.format, report=Outcomes.load(row.report).dump())


@router.get("/workloads/{slug:slug}", response=dict[str, Any], url_name="workload")
def workload(request: Any, slug: str, version: Number = None) -> dict[str, Any]:
    """The document of a version; hidden cases for those who may write workloads."""
    row = _version(request, slug, version)
    document: dict[str, Any] = row.record.dump()
    if not may(request.role, Act.WRITE_WORKLOADS):
        document["cases"] = [case for case in document["cases"] if not case["hidden"]]
    return document


@router.get("/workloads/{slug:slug}/export/{slug:form}", url_name="workload_export")
def export(request: Any, slug: str, form: str, version: Number = None) -> HttpResponse:
    """A version as a file in a format: `kernelsite`, `flashinfer_trace`, `sol_execbench`, …; several files as a ZIP."""
    row = _version(request, slug, version)
    try:
        name, content = exports.exported(row, form, hidden=may(request.role, Act.WRITE_WORKLOADS))
    except FormatError as error:
        raise HttpError(CONFLICT, str(error)) from error
    return download(content, name, "application/octet-stream")


def _version(request: Any, slug: str, version: int | None) -> WorkloadVersion:
    demand_scope(request, Scope.READ)
    rows: VersionQuerySet[WorkloadVersion] = WorkloadVersion.objects.visible_to(request.team)
    return version_of(rows, slug, version)[0]
