"""Programs of an import, run on a device from its report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from kernelsite.accounts import audit
from kernelsite.accounts.roles import Act, asks
from kernelsite.catalog import device_jobs, probes
from kernelsite.catalog.models import WorkloadImport, WorkloadProbe
from kernelsite.catalog.probes import ProbeRefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.http import HttpResponse

    from kernelsite.accounts.middleware import TeamRequest


@require_POST
@transaction.atomic
@asks(Act.WRITE_WORKLOADS)
def run(request: TeamRequest, pk: int) -> HttpResponse:
    """Run one program, or all that have not been run."""
    row = get_object_or_404(WorkloadImport.objects.of_team(request.team).select_related("team"), pk=pk)
    word = request.POST.get("place", "")
    places = [int(word)] if word.isascii() and word.isdecimal() and len(word) < 6 else None
    try:
        ask(request, row, request.POST.get("device_class", ""), places)
    except ProbeRefusedError as error:
        messages.error(request, str(error))
    return redirect(row)


def ask(
    request: TeamRequest, row: WorkloadImport, device_class: str, places: Sequence[int] | None
) -> list[WorkloadProbe]:
    """Have programs run in the name of a request, and write so to the trail.

    Raises:
        ProbeRefusedError: they cannot be run.
    """
    user = request.user if isinstance(request.user, User) else None
    wanted = probes.check_class(device_class)
    begun = probes.request(row, user, wanted, places)
    if begun:
        names = [one.program.where for one in begun[:20]]
        audit.record(
            request, "run", row, after={"device_class": wanted, "count": len(begun), "programs": names}
        )
    return begun


@require_POST
@transaction.atomic
@asks(Act.WRITE_WORKLOADS)
def cancel(request: TeamRequest, pk: int, probe: int) -> HttpResponse:
    """Wait no longer for a run."""
    rows = WorkloadProbe.objects.of_team(request.team).filter(upload_id=pk).select_related("upload")
    row = get_object_or_404(rows.defer("known"), pk=probe)
    if not stopped(request, row):
        messages.error(request, "The run was over already.")
    return redirect(row.upload)


def stopped(request: TeamRequest, row: WorkloadProbe) -> bool:
    """Cancel a run in the name of a request; False when it was over already."""
    if not device_jobs.cancel(row, request.user.get_username()):
        return False
    audit.record(request, "cancel", row)
    return True
