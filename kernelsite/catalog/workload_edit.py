"""Pages that write workloads: new, fork, drafts, publish, retire, validate, acknowledge."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from kernelsite.accounts import audit
from kernelsite.accounts.roles import Act, demand
from kernelsite.catalog import device_jobs, standing, validations, workload_publish, workload_report
from kernelsite.catalog.highlight import diff
from kernelsite.catalog.models import WorkloadDraft, WorkloadValidation, WorkloadVersion
from kernelsite.catalog.validation_panel import device_classes, panel
from kernelsite.catalog.views import version_of
from kernelsite.catalog.workload_pages import compared, may_write, shown_cases
from kernelsite.catalog.workload_publish import WorkloadRefusedError

if TYPE_CHECKING:
    from kernelsite.accounts.middleware import TeamRequest
    from kernelsite.accounts.models import Team
    from kernelsite.catalog.workload_report import Report
    from search.workload import Workload

UNPROCESSABLE, CONFLICT = 422, 409


@never_cache
@require_http_methods(["GET", "POST"])
def new(request: TeamRequest) -> HttpResponse:
    """Name a workload and begin its draft."""
    team = _writing_team(request)
    name, title, problem = request.POST.get("name", "").strip(), _title(request), ""
    if request.method == "POST":
        try:
            with transaction.atomic():
                made = workload_publish.begin(team, _user(request), name, title)
                audit.record(request, "begin", made, after={"name": name})
            return redirect(made)
        except WorkloadRefusedError as error:
            problem = str(error)
    context = {"name": name, "title": title, "problem": problem}
    return render(request, "catalog/workload_new.html", context, status=UNPROCESSABLE if problem else 200)


@never_cache
@require_http_methods(["GET", "POST"])
def fork(request: TeamRequest, slug: str, version: int) -> HttpResponse:
    """Make a draft of a new workload from a version."""
    team = _writing_team(request)
    row, _ = version_of(WorkloadVersion.objects.visible_to(team), slug, version)
    name = request.POST.get("name", f"{row.slug}_own"[: workload_publish.NAME_LIMIT]).strip()
    title = _title(request, row.title)
    problem = ""
    if request.method == "POST":
        try:
            with transaction.atomic():
                made = workload_publish.fork(row, team, _user(request), name, title)
                audit.record(request, "fork", row, after={"name": name})
            return redirect(made)
        except WorkloadRefusedError as error:
            problem = str(error)
    context = {"workload": row, "name": name, "title": title, "problem": problem}
    return render(request, "catalog/workload_new.html", context, status=UNPROCESSABLE if problem else 200)


@require_POST
@transaction.atomic
def act(request: TeamRequest, slug: str, version: int, step: str) -> HttpResponse:
    """A step in the life of a version: begin the next one, retire, validate, acknowledge."""
    team = _writing_team(request)
    row, _ = version_of(WorkloadVersion.objects.visible_to(team), slug, version)
    try:
        match step:
            case "edit":
                made = workload_publish.next_version(row, team, _user(request))
                audit.record(request, "edit", row)
                return redirect(made)
            case "retire":
                workload_publish.retire(row, team)
                audit.record(request, "retire", row)
                messages.success(request, f"{row.short} is retired. Searches that use it go on.")
            case "validate":
                _validate(request, row.record, row.slug)
            case "acknowledge":
                _acknowledge(request, row, team)
            case _:
                raise Http404
    except WorkloadRefusedError as error:
        messages.error(request, str(error))
    return redirect("catalog:workload_version", row.slug, row.version)


def _acknowledge(request: TeamRequest, row: WorkloadVersion, team: Team) -> None:
    if row.team_id != team.pk:
        raise WorkloadRefusedError(f"{row.short} came with Kernelsite.")
    reason = request.POST.get("reason", "")
    try:
        names = standing.acknowledge(row, _user(request), reason)
    except ValueError as error:
        raise WorkloadRefusedError(str(error)) from error
    audit.record(request, "acknowledge", row, after={"passes": list(names)}, reason=reason.strip())
    messages.success(request, f"Taken note of. Searches may use {row.short}.")


def _validate(request: TeamRequest, workload: Workload, slug: str) -> WorkloadValidation:
    """Ask for a validation on the class of the form, or on the first that is online."""
    classes = [name for name, _ in device_classes()]
    wanted = request.POST.get("device_class") or classes[0]
    if wanted not in classes:
        raise WorkloadRefusedError(f"There is no device class {wanted[:50]}.")
    team = cast("Team", request.team)
    row, is_new = validations.request(team, _user(request), workload, slug, wanted)
    if is_new:
        audit.record(request, "validate", row, after={"device_class": wanted, "hash": row.hash})
    return row


@require_POST
@transaction.atomic
def cancel(request: TeamRequest, pk: int) -> HttpResponse:
    """Wait no longer for a validation."""
    team = _writing_team(request)
    row = get_object_or_404(WorkloadValidation.objects.of_team(team).defer("known"), pk=pk)
    if device_jobs.cancel(row, request.user.get_username()):
        audit.record(request, "cancel", row)
    else:
        messages.error(request, "The validation was over already.")
    return redirect(_page_of(row, team))


def _page_of(row: WorkloadValidation, team: Team) -> WorkloadVersion | WorkloadDraft | str:
    """Where a validation is shown: its version, else its draft."""
    version = WorkloadVersion.objects.visible_to(team).filter(hash=row.hash).first()
    draft = WorkloadDraft.objects.of_team(team).filter(hash=row.hash).first()
    return version or draft or "catalog:workloads"


# Drafts -------------------------------------------------------------------------------------------


@never_cache
@require_http_methods(["GET", "POST"])
def draft(request: TeamRequest, slug: str) -> HttpResponse:
    """A draft: its two texts, what is wrong with them, what they change; save, validate, publish or discard it."""
    row = _draft(request, slug)
    if request.method == "GET":
        return _page(request, row, row.definition, row.reference)
    _writing_team(request)
    with transaction.atomic():
        return _discarded(request, row) if request.POST.get("step") == "discard" else _written(request, row)


def _discarded(request: TeamRequest, row: WorkloadDraft) -> HttpResponse:
    audit.record(request, "discard", row, before={"definition": row.definition[:2000]})
    row.delete()
    messages.success(request, f"The draft of {row.slug} is discarded.")
    return redirect("catalog:workloads")


@require_POST
def check(request: TeamRequest, slug: str) -> HttpResponse:
    """What is wrong with texts that are not saved: a part of the page, fetched while somebody writes."""
    row = _draft(request, slug)
    _writing_team(request)
    report = workload_report.check(_text(request, "definition"), _text(request, "reference"))
    return render(request, "catalog/_workload_check.html", _checked(row, report))


def _written(request: TeamRequest, row: WorkloadDraft) -> HttpResponse:
    """Save the texts of the form, then do what its button says."""
    step = request.POST.get("step", "save")
    if step not in {"save", "validate", "publish"}:
        raise Http404
    # Steps from elsewhere, such as a script's, need not repeat the texts.
    definition = _text(request, "definition") if "definition" in request.POST else row.definition
    reference = _text(request, "reference") if "reference" in request.POST else row.reference
    changed = (definition, reference) != (row.definition, row.reference)
    if changed and request.POST.get("seen", "") != _digest(row):
        return _page(request, row, definition, reference, status=CONFLICT)
    if changed and not _save(row, definition, reference):
        return _page(request, _draft(request, row.slug), definition, reference, status=CONFLICT)
    if step == "save" or not row.hash:
        return _saved(request, row, step, changed=changed)
    try:
        return _validated(request, row) if step == "validate" else _published(request, row)
    except WorkloadRefusedError as error:
        if changed:
            audit.record(request, "write", row, after={"hash": row.hash})
        messages.error(request, str(error))
        return redirect(row)


def _save(row: WorkloadDraft, definition: str, reference: str) -> bool:
    """Write the texts with a new check, unless the draft was changed meanwhile."""
    seen = row.updated_at
    row.definition, row.reference, row.updated_at, row.source = definition, reference, timezone.now(), ""
    workload_publish.fill(row, workload_report.check(definition, reference))
    names = ("definition", "reference", "updated_at", "source", "report", "hash", "title")
    values = {name: getattr(row, name) for name in names}
    return bool(WorkloadDraft.objects.filter(pk=row.pk, updated_at=seen).update(**values))


def _saved(request: TeamRequest, row: WorkloadDraft, step: str, *, changed: bool) -> HttpResponse:
    if changed:
        audit.record(request, "write", row, after={"hash": row.hash})
    count = len(_report(row).problems)
    wrong = f"{count} problem{'s'[: count > 1]}"
    if count and step != "save":
        messages.error(request, f"Saved, but there was nothing to {step}: the draft has {wrong}.")
    elif count:
        messages.warning(request, f"Saved, with {wrong}.")
    else:
        messages.success(request, "Saved. Nothing is wrong with it.")
    return redirect(row)


def _validated(request: TeamRequest, row: WorkloadDraft) -> HttpResponse:
    workload = _report(row).workload
    assert workload is not None, "it has a hash"
    _validate(request, workload, row.slug)
    return redirect(f"{row.get_absolute_url()}#validation")


def _published(request: TeamRequest, row: WorkloadDraft) -> HttpResponse:
    version = workload_publish.publish(row, _user(request))
    audit.record(request, "publish", version, after={"hash": version.hash})
    messages.success(request, f"{version.short} is published. It never changes from now on.")
    if standing.counting(version.team, version.hash) is None:
        # Not an act of its own: nothing can be searched before it.
        classes = device_classes()
        wanted = request.POST.get("device_class", "")
        known = wanted if wanted in dict(classes) else classes[0][0]
        validations.request(cast("Team", version.team), _user(request), version.record, version.slug, known)
    return redirect("catalog:workload_version", version.slug, version.version)


def _page(
    request: TeamRequest, row: WorkloadDraft, definition: str, reference: str, status: int = 200
) -> HttpResponse:
    """The page with these texts; where they are not the saved ones, what is saved stands beside them."""
    is_saved = (definition, reference) == (row.definition, row.reference)
    report = _report(row) if is_saved else workload_report.check(definition, reference)
    workload, base = report.workload, row.based_on
    context: dict[str, Any] = {
        **_checked(row, report),
        "files": compared(base.record, workload) if base and workload else [],
        "definition": definition,
        "reference": reference,
        "seen": _digest(row),
        "conflict": _conflict(row, definition, reference) if status == CONFLICT else [],
        "rows": min(max(definition.count("\n") + 2, 24), 60),
        "reference_rows": min(max(reference.count("\n") + 2, 8), 40),
        "may_write": may_write(request),
        **panel(request, row.hash if is_saved else ""),
    }
    return render(request, "catalog/workload_draft.html", context, status=status)


def _conflict(row: WorkloadDraft, definition: str, reference: str) -> list[tuple[str, Any]]:
    """From what is saved to what the user sent."""
    pairs = {"definition": (row.definition, definition), "reference.py": (row.reference, reference)}
    return [(name, diff(*pair)) for name, pair in pairs.items() if pair[0] != pair[1]]


def _checked(row: WorkloadDraft, report: Report) -> dict[str, Any]:
    """Context of `_workload_check.html`."""
    workload = report.workload
    return {
        "draft": row,
        "problems": report.problems,
        "is_sound": workload is not None,
        "cases": shown_cases(workload) if workload else [],
        "hidden_count": sum(case.hidden for case in workload.cases) if workload else 0,
    }


def _report(row: WorkloadDraft) -> Report:
    return workload_report.Report.load(row.report or {})


def _text(request: TeamRequest, name: str) -> str:
    """A text of the form. What no database can store becomes the mark for an unreadable character."""
    return request.POST.get(name, "").replace("\r\n", "\n").replace("\0", "\N{REPLACEMENT CHARACTER}")


def _digest(row: WorkloadDraft) -> str:
    return hashlib.sha256(f"{row.definition}\0{row.reference}".encode()).hexdigest()


def _draft(request: TeamRequest, slug: str) -> WorkloadDraft:
    drafts = WorkloadDraft.objects.of_team(request.team).select_related("based_on", "team")
    return get_object_or_404(drafts, slug=slug)


def _title(request: TeamRequest, default: str = "") -> str:
    return " ".join(request.POST.get("title", default).split())[:200]


def _user(request: TeamRequest) -> User | None:
    return request.user if isinstance(request.user, User) else None


def _writing_team(request: TeamRequest) -> Team:
    demand(request.role, Act.WRITE_WORKLOADS)
    return cast("Team", request.team)
