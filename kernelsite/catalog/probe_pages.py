"""Programs of an import, run on a device from its report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from kernelsite.accounts import audit
from kernelsite.accounts.roles import Act, asks, may
from kernelsite.catalog import device_jobs, probes, profiles
from kernelsite.catalog.models import WorkloadImport, WorkloadProbe
from kernelsite.catalog.probes import ProbeRefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.http import HttpResponse

    from kernelsite.accounts.middleware import TeamRequest
    from kernelsite.catalog.imports import Outcome
    from search.formats.probes import ProbeTask


@require_POST
@transaction.atomic
@asks(Act.WRITE_WORKLOADS)
def run(request: TeamRequest, pk: int) -> HttpResponse:
    """Run one program, or all that have not been run."""
    row = get_object_or_404(WorkloadImport.objects.of_team(request.team).select_related("team"), pk=pk)
    word = request.POST.get("place", "")
    task: ProbeTask = "profile" if request.POST.get("task") == "profile" else "shapes"
    places = [int(word)] if word.isascii() and word.isdecimal() and len(word) < 6 else None
    try:
        ask(request, row, request.POST.get("device_class", ""), places, task)
    except ProbeRefusedError as error:
        messages.error(request, str(error))
    return redirect(row)


def ask(
    request: TeamRequest,
    row: WorkloadImport,
    device_class: str,
    places: Sequence[int] | None,
    task: ProbeTask = "shapes",
) -> list[WorkloadProbe]:
    """Have programs run in the name of a request, and write so to the trail.

    Raises:
        ProbeRefusedError: they cannot be run.
    """
    user = request.user if isinstance(request.user, User) else None
    wanted = probes.check_class(device_class)
    begun = probes.request(row, user, wanted, places, task)
    if begun:
        names = [one.program.where for one in begun[:20]]
        audit.record(
            request,
            probes.VERBS[task],
            row,
            after={"device_class": wanted, "count": len(begun), "programs": names},
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


@require_GET
def operators(request: TeamRequest, pk: int, probe: int) -> HttpResponse:
    """Operators of a program by what a better kernel for each could bring."""
    row = _profile(request, pk, probe)
    ranked, offered = profiles.ranked(row)
    context = {
        "import": row.upload,
        "run": row,
        "answer": row.answer,
        "ranked": ranked,
        "microseconds": sum(one.operator.microseconds for one in ranked),
        "chosen": [one.name for one in offered[: profiles.CHOSEN]],
        "may_write": may(request.role, Act.WRITE_WORKLOADS),
    }
    return render(request, "catalog/workload_operators.html", context)


@require_POST
@transaction.atomic
@asks(Act.WRITE_WORKLOADS)
def make(request: TeamRequest, pk: int, probe: int) -> HttpResponse:
    """Make workloads of the operators that the form chose."""
    row = _profile(request, pk, probe)
    made = made_of(request, row, request.POST.getlist("operator"))
    if not made:
        messages.error(request, "Choose at least one operator.")
        return redirect("catalog:probe_operators", pk, probe)
    messages.success(request, f"{len(made)} operator{'s'[: len(made) > 1]} taken; see the report.")
    return redirect(row.upload)


def made_of(request: TeamRequest, row: WorkloadProbe, names: Sequence[str]) -> list[Outcome]:
    """Make workloads of operators in the name of a request, and write so to the trail."""
    user = request.user if isinstance(request.user, User) else None
    made = profiles.make(row, user, names)
    if made:
        audit.record(request, "make", row, after={"operators": [one.slug or one.name for one in made]})
    return made


def _profile(request: TeamRequest, pk: int, probe: int) -> WorkloadProbe:
    rows = WorkloadProbe.objects.of_team(request.team).filter(upload_id=pk, task="profile")
    return get_object_or_404(rows.select_related("upload", "team"), pk=probe)
