"""Programs of an import that only a run explains, over the API: run on a device, looked at, cancelled."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.db import transaction
from django.shortcuts import get_object_or_404
from ninja import Router, Schema, Status
from ninja.errors import HttpError
from pydantic import Field

from kernelsite.accounts.models import Scope
from kernelsite.accounts.roles import Act
from kernelsite.api.auth import demand_act, demand_scope
from kernelsite.catalog import probe_pages, profiles
from kernelsite.catalog.models import WorkloadImport, WorkloadProbe
from kernelsite.catalog.probes import ProbeRefusedError
from search.formats.operators import Ranked
from search.formats.probes import ProbeTask

router = Router(tags=["workloads"])
CONFLICT = 409
Place = Annotated[int, Field(ge=0, le=10**5)]


class RunBody(Schema):
    """What is run, and where."""

    device_class: Annotated[
        str, Field(max_length=50, description="the first that is online where it is left out")
    ] = ""
    task: Annotated[
        ProbeTask,
        Field(description="`shapes` makes a workload of each program, `profile` ranks its operators"),
    ] = "shapes"
    programs: Annotated[
        list[Place] | None,
        Field(
            max_length=500,
            description="places in the report's `probes`, or its `programs` for a profile; all that have not been run where it is left out",
        ),
    ] = None


class RunRow(Schema):
    """One run of a program. What it led to stands in the report of the import."""

    id: int
    task: str
    program: Annotated[int, Field(description="its place in the report's `probes`, or `programs`")]
    file: str
    device_class: str
    state: Annotated[str, Field(description="queued, running, passed, failed, cancelled")]
    attempt: int
    note: Annotated[str, Field(description="why an attempt was lost, or who cancelled it")]
    message: Annotated[str, Field(description="why it failed")]
    log: Annotated[str, Field(description="the last that it printed")]
    created_at: datetime
    finished_at: datetime | None


class OperatorRow(Schema):
    """An operator of a program, and what a better kernel for it could bring."""

    name: str
    takes: Annotated[str, Field(description="shapes and types of its tensors")]
    calls: Annotated[float, Field(description="of one call of the program")]
    microseconds: float
    share: Annotated[float, Field(description="of the program's time")]
    twice: Annotated[float, Field(description="speed-up of the program by a kernel that is twice as fast")]
    limit: Annotated[float, Field(description="speed-up by a kernel that takes no time: 1 / (1 - share)")]
    offered: Annotated[str, Field(description="workload that it can become; empty where it can be none")]
    why: Annotated[str, Field(description="why not")]


class ChoiceBody(Schema):
    """Operators that become drafts."""

    operators: Annotated[
        list[Annotated[str, Field(max_length=100)]],
        Field(min_length=1, max_length=200, description="their `offered` names"),
    ]


@router.post("/workloads/imports/{int:import_id}/probes", response={202: list[RunRow]}, url_name="probe_run")
def run(request: Any, import_id: int, body: RunBody) -> Status[list[dict[str, Any]]]:
    """Have device workers run programs of an import; each becomes a draft or a sentence of its report. Those under way are left alone."""
    demand_act(request, Act.WRITE_WORKLOADS)
    row = _import(request, import_id)
    try:
        with transaction.atomic():
            begun = probe_pages.ask(request, row, body.device_class, body.programs, body.task)
    except ProbeRefusedError as error:
        raise HttpError(CONFLICT, str(error)) from error
    return Status(202, [_row(one) for one in begun])


@router.get("/workloads/imports/{int:import_id}/probes", response=list[RunRow], url_name="probes")
def runs(request: Any, import_id: int) -> list[dict[str, Any]]:
    """Every run of an import's programs, newest first."""
    demand_scope(request, Scope.READ)
    return [_row(one) for one in WorkloadProbe.objects.filter(upload=_import(request, import_id))]


@router.post(
    "/workloads/imports/{int:import_id}/probes/{int:probe_id}/cancel",
    response=RunRow,
    url_name="probe_cancel",
)
def cancel(request: Any, import_id: int, probe_id: int) -> dict[str, Any]:
    """Wait no longer for a run; one that is over is answered as it is."""
    demand_act(request, Act.WRITE_WORKLOADS)
    row = get_object_or_404(WorkloadProbe, upload=_import(request, import_id), pk=probe_id)
    with transaction.atomic():
        probe_pages.stopped(request, row)
    row.refresh_from_db()
    return _row(row)


@router.get(
    "/workloads/imports/{int:import_id}/probes/{int:probe_id}/operators",
    response=list[OperatorRow],
    url_name="probe_operators",
)
def operators(request: Any, import_id: int, probe_id: int) -> list[dict[str, Any]]:
    """Operators of a profiled program, the longest first; none while it runs or when it failed."""
    demand_scope(request, Scope.READ)
    ranked, _ = profiles.ranked(_profile(request, import_id, probe_id))
    return [_operator(one) for one in ranked]


@router.post(
    "/workloads/imports/{int:import_id}/probes/{int:probe_id}/operators",
    response=list[dict[str, Any]],
    url_name="probe_make",
)
def make(request: Any, import_id: int, probe_id: int, body: ChoiceBody) -> list[dict[str, Any]]:
    """Make drafts of operators. What became of each joins the report; the same again changes nothing."""
    demand_act(request, Act.WRITE_WORKLOADS)
    row = _profile(request, import_id, probe_id)
    with transaction.atomic():
        made = probe_pages.made_of(request, row, body.operators)
    if not made:
        raise HttpError(CONFLICT, "it offers none of these")
    return [one.dump() for one in made]


def _profile(request: Any, import_id: int, probe_id: int) -> WorkloadProbe:
    rows = WorkloadProbe.objects.select_related("team").filter(task="profile")
    return get_object_or_404(rows, upload=_import(request, import_id), pk=probe_id)


def _operator(one: Ranked) -> dict[str, Any]:
    told = {name: getattr(one.operator, name) for name in ("name", "takes", "calls", "microseconds")}
    return told | {name: getattr(one, name) for name in ("share", "twice", "limit", "offered", "why")}


def _import(request: Any, import_id: int) -> WorkloadImport:
    rows = WorkloadImport.objects.of_team(request.team).select_related("team")
    return get_object_or_404(rows, pk=import_id)


def _row(row: WorkloadProbe) -> dict[str, Any]:
    names = ("id", "task", "device_class", "state", "attempt", "note", "created_at", "finished_at")
    answer = row.answer
    return {name: getattr(row, name) for name in names} | {
        "program": row.place,
        "file": row.program.where,
        "message": answer.message if answer else "",
        "log": answer.log if answer else "",
    }
