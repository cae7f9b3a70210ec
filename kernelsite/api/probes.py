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
from kernelsite.catalog import probe_pages
from kernelsite.catalog.models import WorkloadImport, WorkloadProbe
from kernelsite.catalog.probes import ProbeRefusedError

router = Router(tags=["workloads"])
CONFLICT = 409
Place = Annotated[int, Field(ge=0, le=10**5)]


class RunBody(Schema):
    """What is run, and where."""

    device_class: Annotated[
        str, Field(max_length=50, description="the first that is online where it is left out")
    ] = ""
    programs: Annotated[
        list[Place] | None,
        Field(
            max_length=500,
            description="places in the report's `probes`; all that have not been run where it is left out",
        ),
    ] = None


class RunRow(Schema):
    """One run of a program. What it led to stands in the report of the import."""

    id: int
    program: Annotated[int, Field(description="its place in the report's `probes`")]
    file: str
    device_class: str
    state: Annotated[str, Field(description="queued, running, passed, failed, cancelled")]
    attempt: int
    note: Annotated[str, Field(description="why an attempt was lost, or who cancelled it")]
    message: Annotated[str, Field(description="why it failed")]
    log: Annotated[str, Field(description="the last that it printed")]
    created_at: datetime
    finished_at: datetime | None


@router.post("/workloads/imports/{int:import_id}/probes", response={202: list[RunRow]}, url_name="probe_run")
def run(request: Any, import_id: int, body: RunBody) -> Status[list[dict[str, Any]]]:
    """Have device workers run programs of an import; each becomes a draft or a sentence of its report. Those under way are left alone."""
    demand_act(request, Act.WRITE_WORKLOADS)
    row = _import(request, import_id)
    try:
        with transaction.atomic():
            begun = probe_pages.ask(request, row, body.device_class, body.programs)
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


def _import(request: Any, import_id: int) -> WorkloadImport:
    rows = WorkloadImport.objects.of_team(request.team).select_related("team")
    return get_object_or_404(rows, pk=import_id)


def _row(row: WorkloadProbe) -> dict[str, Any]:
    names = ("id", "device_class", "state", "attempt", "note", "created_at", "finished_at")
    answer = row.answer
    return {name: getattr(row, name) for name in names} | {
        "program": row.place,
        "file": row.program.where,
        "message": answer.message if answer else "",
        "log": answer.log if answer else "",
    }
