"""Pages that take workloads in: the form, and the report of each import."""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from kernelsite.accounts import audit
from kernelsite.accounts.roles import Act, asks, may
from kernelsite.catalog import imports, probes
from kernelsite.catalog.imports import LIMITS, Outcome, Outcomes, Result
from kernelsite.catalog.models import WorkloadDraft, WorkloadImport, WorkloadProbe, WorkloadVersion
from kernelsite.catalog.plain import visible
from kernelsite.catalog.probes import ProbeRefusedError
from search.formats.containers import Kind, UploadError
from search.formats.format import FormatError
from search.formats.registry import FORMATS
from search.formats.single_file import candidate_of_file
from search.records import SOURCE_LIMIT_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from django.core.files.uploadedfile import UploadedFile
    from django.http import HttpResponse

    from kernelsite.accounts.middleware import TeamRequest
    from kernelsite.accounts.models import Team
    from search.formats.probes import ProbeTask

UNPROCESSABLE = 422
SHOWN = 20
"""Earlier imports on the form's page."""
MOST_SENTENCES = 20


@never_cache
@require_http_methods(["GET", "POST"])
@asks(Act.WRITE_WORKLOADS)
def take_in(request: TeamRequest) -> HttpResponse:
    """Take in a file, several files or a folder."""
    team, problem, form = cast("Team", request.team), None, request.POST.get("format", "")
    if request.method == "POST":
        try:
            name, given = _uploaded(request)
            on = {task: _class_for(request, box) for task, box in probes.VERBS.items()}
            made = take(request, team, given, name, form, on)
            return redirect(made)
        except UploadError as error:
            problem = error
    context = {
        "formats": list(FORMATS.values()),
        "format": form,
        "problem": problem,
        "limits": LIMITS,
        "devices": probes.choices(),
        "workloads": WorkloadVersion.objects.visible_to(team).newest().order_by("slug").defer("document"),
        "imports": WorkloadImport.objects.of_team(team).defer("report")[:SHOWN],
    }
    return render(request, "catalog/workload_import.html", context, status=UNPROCESSABLE if problem else 200)


def take(
    request: TeamRequest,
    team: Team,
    given: bytes | dict[str, bytes],
    name: str,
    form: str,
    on: Mapping[ProbeTask, str],
) -> WorkloadImport:
    """Take in an upload in the name of a request, and write so to the trail.

    Args:
        request: whose act it is.
        team: whose drafts they become.
        given: content of a file, or files by path.
        name: of the file or folder.
        form: name of its format; recognised where it is empty.
        on: device class by what is asked of programs: shapes of those that only a run explains, or operators of all;
            none are run where it is empty.

    Raises:
        UploadError: there is nothing to take.
    """
    user = request.user if isinstance(request.user, User) else None
    made = imports.take(team, user, given, name, form)
    report = Outcomes.load(made.report)
    told: dict[str, Any] = {str(each): report.count(each) for each in Result}
    for task, wanted in on.items():
        if wanted and (begun := probes.request(made, user, wanted, task=task)):
            told |= {probes.VERBS[task]: len(begun), "device_class": wanted}
    audit.record(request, "import", made, after=told)
    return made


def _class_for(request: TeamRequest, box: str) -> str:
    """Class of the form's devices where a box of it is ticked; what may not be run is taken in all the same."""
    if not request.POST.get(box):
        return ""
    try:
        return probes.check_class(request.POST.get("device_class", ""))
    except ProbeRefusedError as error:
        messages.error(request, f"Nothing is run. {error}")
        return ""


def _uploaded(request: TeamRequest) -> tuple[str, bytes | dict[str, bytes]]:
    """Name and content: of one file, or of many by path."""
    files = request.FILES.getlist("folder") or request.FILES.getlist("files")
    if not files:
        raise UploadError(Kind.EMPTY, "choose a file or a folder")
    if sum(file.size or 0 for file in files) > LIMITS.total_bytes:
        raise UploadError(Kind.TOO_LARGE, f"longer than {LIMITS.total_bytes >> 20} MiB in all")
    if len(files) == 1 and "folder" not in request.FILES:
        return files[0].name or "upload", files[0].read()
    paths = _paths(request.POST.get("paths", ""), files)
    if len(set(paths)) != len(paths):
        twice = next(path for path in paths if paths.count(path) > 1)
        raise UploadError(Kind.DUPLICATE, "two files have this name", twice)
    root = PurePosixPath(paths[0]).parts[0] if "/" in paths[0] else f"{len(files)} files"
    return root, {path: file.read() for path, file in zip(paths, files, strict=True)}


def _paths(told: str, files: Sequence[UploadedFile[bytes]]) -> list[str]:
    """Paths as the page's script tells them, since browsers send names alone; those names where there is no script."""
    try:
        paths: Any = json.loads(told or "null")
    except (ValueError, RecursionError):
        paths = None
    fits = isinstance(paths, list) and len(paths) == len(files)
    if fits and all(isinstance(path, str) and path for path in paths):
        return cast("list[str]", paths)
    return [file.name or "" for file in files]


@require_POST
@asks(Act.WRITE_WORKLOADS)
def program(request: TeamRequest) -> HttpResponse:
    """Keep one program to start searches of a workload from."""
    team = cast("Team", request.team)
    slug, file = request.POST.get("workload", ""), request.FILES.get("program")
    workloads = WorkloadVersion.objects.visible_to(team).filter(slug=slug)
    if not workloads.exists() or file is None:
        messages.error(request, "Choose a workload and a file.")
        return redirect("catalog:workload_import")
    name = file.name or "program"
    try:
        made = candidate_of_file(name, file.read(SOURCE_LIMIT_BYTES + 1))
    except FormatError as error:
        messages.error(request, f"Nothing was taken. {visible(str(error))}")
        return redirect("catalog:workload_import")
    user = request.user if isinstance(request.user, User) else None
    told = name.rpartition(".")[0] or name, user.get_username() if user else "", name
    row, is_new = imports.starting(team, user, slug, made, told)
    if is_new:
        audit.record(request, "import", row, after={"workload": slug, "hash": row.hash})
    messages.success(request, f"{visible(row.name)} is kept: a search can start from it.")
    return redirect(f"{reverse('compare:new')}?{urlencode({'workload': slug})}")


@require_GET
def report(request: TeamRequest, pk: int) -> HttpResponse:
    """What became of each thing of an import."""
    row = get_object_or_404(WorkloadImport.objects.of_team(request.team).select_related("created_by"), pk=pk)
    found = Outcomes.load(row.report)
    runs, profiled = _runs(row, "shapes"), _runs(row, "profile")
    context = {
        "import": row,
        "report": found,
        "items": _items(request, found, runs),
        "programs": [(place, one, profiled.get(place)) for place, one in enumerate(found.programs)],
        "is_running": any(run.is_open for run in (*runs.values(), *profiled.values())),
        **_idle(found, runs),
        "devices": probes.choices(),
        "form": FORMATS[row.format].title if row.format in FORMATS else row.format,
        "counts": [(str(each), found.count(each)) for each in Result],
        "drafts": WorkloadDraft.objects.of_team(request.team)
        .filter(slug__in=[one.slug for one in found.items if one.draft])
        .exclude(source="")
        .count(),
        "may_write": may(request.role, Act.WRITE_WORKLOADS),
    }
    return render(request, "catalog/workload_import_report.html", context)


@require_POST
@asks(Act.WRITE_WORKLOADS)
def publish(request: TeamRequest, pk: int) -> HttpResponse:
    """Publish the drafts that the import made."""
    row = get_object_or_404(WorkloadImport.objects.of_team(request.team).select_related("team"), pk=pk)
    made = published(request, row)
    messages.success(request, f"{len(made)} published.")
    return redirect(row)


def published(request: TeamRequest, row: WorkloadImport) -> list[WorkloadVersion]:
    """Publish the drafts of an import in the name of a request; says what stays a draft, and writes to the trail."""
    user = request.user if isinstance(request.user, User) else None
    made, left = imports.publish(row, user)
    for sentence in left[:MOST_SENTENCES]:
        messages.error(request, sentence)
    audit.record(request, "publish", row, after={"versions": [version.short for version in made]})
    return made


def _runs(row: WorkloadImport, task: ProbeTask) -> dict[int, WorkloadProbe]:
    """The newest run of each program, by its place."""
    rows = WorkloadProbe.objects.filter(upload=row, task=task).defer("document").order_by("id")
    return {run.place: run for run in rows}


def _idle(report: Outcomes, runs: Mapping[int, WorkloadProbe]) -> dict[str, int]:
    """How many programs wait for somebody to have them run, and how many were refused when they ran."""
    told = [one for one in report.items if one.kind == "probe"]
    idle = [one.result for place, one in enumerate(told) if place not in runs or not runs[place].is_open]
    return {"waiting": idle.count(Result.PROBE), "failed": idle.count(Result.REFUSED)}


def _items(request: TeamRequest, report: Outcomes, runs: Mapping[int, WorkloadProbe]) -> list[dict[str, Any]]:
    """Rows of the table: each outcome with its page, and of a program its place and newest run."""
    wanting, place, rows = probes.wanting(report), 0, []
    for one in report.items:
        told: dict[str, Any] = {"address": _address(request, one)}
        if one.kind == "probe":
            told |= {"place": place, "run": runs.get(place), "may_run": place in wanting}
            place += 1
        rows.append(one.dump() | told)
    return rows


def _address(request: TeamRequest, outcome: Outcome) -> str:
    """Page of the workload as it stands now: a draft becomes a version, or is thrown away."""
    if not outcome.slug or outcome.kind not in imports.MAKE_WORKLOADS:
        return ""
    if WorkloadDraft.objects.of_team(request.team).filter(slug=outcome.slug).exists():
        return reverse("catalog:workload_draft", args=[outcome.slug])
    if WorkloadVersion.objects.visible_to(request.team).filter(slug=outcome.slug).exists():
        return reverse("catalog:workload", args=[outcome.slug])
    return ""
