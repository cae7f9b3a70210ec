"""Pages that write action libraries: fork, import, drafts and their files, publish, retire."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from kernelsite.accounts import audit
from kernelsite.accounts.roles import Act, demand
from kernelsite.catalog import library_publish, library_report
from kernelsite.catalog.library_files import (
    UPLOAD_LIMIT,
    LibraryFilesError,
    checked,
    from_upload,
    to_zip,
)
from kernelsite.catalog.library_pages import download, may_write
from kernelsite.catalog.library_publish import LibraryRefusedError
from kernelsite.catalog.models import LibraryDraft, LibraryVersion
from kernelsite.catalog.views import version_of
from search.actions import ActionLibrary
from search.library_diff import diff

if TYPE_CHECKING:
    from kernelsite.accounts.middleware import TeamRequest
    from kernelsite.accounts.models import Team
    from kernelsite.catalog.library_report import Problem

UNPROCESSABLE, CONFLICT = 422, 409
NEW_ACTION = """\
actions:
- id:
  family:
  title:
  summary:
  when: []
  sets: {}
  contract:
  notes:
"""
"""What the text of a new file begins with."""


@never_cache
@require_http_methods(["GET", "POST"])
def fork(request: TeamRequest, slug: str, version: int) -> HttpResponse:
    """Make a draft of a new library from a version."""
    team = _writing_team(request)
    row, _ = version_of(LibraryVersion.objects.visible_to(team), slug, version)
    name = request.POST.get("name", f"{row.slug}_own"[:60]).strip()
    title = request.POST.get("title", row.title).strip()[:200]
    problem = ""
    if request.method == "POST":
        try:
            made = library_publish.fork(row, team, _user(request), name, title)
            audit.record(request, "fork", row, after={"name": name})
            return redirect(made)
        except LibraryRefusedError as error:
            problem = str(error)
    context = {"library": row, "name": name, "title": title, "problem": problem}
    return render(request, "catalog/library_fork.html", context, status=UNPROCESSABLE if problem else 200)


@never_cache
@require_http_methods(["GET", "POST"])
def take_in(request: TeamRequest) -> HttpResponse:
    """Make a draft from an upload, sound or not."""
    team = _writing_team(request)
    name, problem = request.POST.get("name", "").strip(), ""
    if request.method == "POST":
        try:
            library_publish.check_name(team, name)
            made = library_publish.new_draft(team, _user(request), name, _uploaded(request))
            audit.record(request, "import", made, after={"files": sorted(made.files)})
            return redirect(made)
        except (LibraryRefusedError, LibraryFilesError) as error:
            problem = str(error)
    context = {"name": name, "problem": problem}
    return render(request, "catalog/library_import.html", context, status=UNPROCESSABLE if problem else 200)


def _uploaded(request: TeamRequest) -> dict[str, str]:
    upload = request.FILES.get("file")
    if upload is None:
        raise LibraryFilesError("Choose a file.")
    # One byte more than allowed says that it is too long, without reading the rest.
    return from_upload(upload.name or "", upload.read(UPLOAD_LIMIT + 1))


@require_POST
def act(request: TeamRequest, slug: str, version: int, step: str) -> HttpResponse:
    """Begin the next version of a team's own library, or retire a version."""
    team = _writing_team(request)
    row, _ = version_of(LibraryVersion.objects.visible_to(team), slug, version)
    try:
        match step:
            case "edit":
                made = library_publish.next_version(row, team, _user(request))
                audit.record(request, "edit", row)
                return redirect(made)
            case "retire":
                library_publish.retire(row, team)
                audit.record(request, "retire", row)
                messages.success(request, f"{row.short} is retired. Searches that use it go on.")
            case _:
                raise Http404
    except LibraryRefusedError as error:
        messages.error(request, str(error))
    return redirect("catalog:library_version", row.slug, row.version)


@never_cache
@require_http_methods(["GET", "POST"])
def draft(request: TeamRequest, slug: str) -> HttpResponse:
    """A draft: its files, what is wrong with it, what it changes; publish or discard it."""
    row = _draft(request, slug)
    if request.method == "POST":
        _writing_team(request)
        return _publish_or_discard(request, row)
    report = _report(row)
    wrong = {problem.file for problem in report.problems}
    context = {
        "draft": row,
        "files": [(name, row.files[name].count("\n"), name in wrong) for name in sorted(row.files)],
        "problems": report.problems,
        "is_sound": report.document is not None,
        "diff": _changes(row, report),
        "may_write": may_write(request),
    }
    return render(request, "catalog/library_draft.html", context)


def _publish_or_discard(request: TeamRequest, row: LibraryDraft) -> HttpResponse:
    if request.POST.get("step") == "discard":
        audit.record(request, "discard", row, before={"files": sorted(row.files)})
        row.delete()
        messages.success(request, f"The draft of {row.slug} is discarded.")
        return redirect("catalog:libraries")
    if request.POST.get("step") != "publish":
        raise Http404
    try:
        version = library_publish.publish(row, _user(request))
        audit.record(request, "publish", version, after={"hash": version.hash})
    except (LibraryRefusedError, LibraryFilesError) as error:
        messages.error(request, str(error))
        return redirect(row)
    messages.success(request, f"{version.short} is published. It never changes from now on.")
    return redirect("catalog:library_version", version.slug, version.version)


@never_cache
@require_http_methods(["GET", "POST"])
def file(request: TeamRequest, slug: str) -> HttpResponse:
    """One file of a draft as text; `?name=` names it, without one it is a new action's."""
    row = _draft(request, slug)
    name = request.GET.get("name", "")
    if name and name not in row.files:
        raise Http404
    if request.method == "GET":
        return _file_page(request, row, name, row.files.get(name, NEW_ACTION))
    _writing_team(request)
    if request.POST.get("step") == "remove":
        return _removed(request, row, name)
    return _saved(request, row, name)


def _saved(request: TeamRequest, row: LibraryDraft, name: str) -> HttpResponse:
    text = request.POST.get("text", "").replace("\r\n", "\n")
    target = name or request.POST.get("new_name", "").strip()
    files = {**row.files, target: text}
    if problem := _refusal(row, name, target, files):
        return _file_page(request, row, name, text, problem=problem, status=UNPROCESSABLE)
    if not _written(row, name, request.POST.get("seen", ""), files):
        problem = "The draft was changed meanwhile. Your text is below and not saved; save again to replace what is there."
        return _file_page(request, _draft(request, row.slug), name, text, problem=problem, status=CONFLICT)
    audit.record(request, "write file", row, after={"file": target})
    # What is wrong is saved too: a text is never lost.
    if wrong := _problems_of(row, target):
        messages.warning(request, f"{target} is saved, with {len(wrong)} problem{'s'[: len(wrong) > 1]}.")
    else:
        messages.success(request, f"{target} is saved.")
    return redirect(f"{reverse('catalog:library_file', args=[row.slug])}?{urlencode({'name': target})}")


def _refusal(row: LibraryDraft, name: str, target: str, files: dict[str, str]) -> str:
    """Why a file cannot be saved; empty where it can."""
    if not name and target in row.files:
        return f"There is a file {target} already."
    if not files[target].strip():
        return "The text is empty. Remove the file instead."
    try:
        checked(files)
    except LibraryFilesError as error:
        return str(error)
    return ""


def _removed(request: TeamRequest, row: LibraryDraft, name: str) -> HttpResponse:
    files = {other: text for other, text in row.files.items() if other != name}
    if files and _written(row, name, request.POST.get("seen", ""), files):
        audit.record(request, "remove file", row, before={"file": name})
        messages.success(request, f"{name} is removed.")
    else:
        messages.error(request, f"{name} was not removed: it was changed meanwhile, or is the only file.")
    return redirect(row)


def _written(row: LibraryDraft, name: str, seen: str, files: dict[str, str]) -> bool:
    """Write the files with a new check, unless the draft is not what the user saw."""
    if name and _digest(row.files[name]) != seen:
        return False
    report, now = library_report.check(files, row.slug).dump(), timezone.now()
    same = LibraryDraft.objects.filter(pk=row.pk, updated_at=row.updated_at)
    if not same.update(files=files, report=report, updated_at=now):
        return False
    row.files, row.report, row.updated_at = files, report, now
    return True


def _file_page(
    request: TeamRequest,
    row: LibraryDraft,
    name: str,
    text: str,
    *,
    problem: str = "",
    status: int = 200,
) -> HttpResponse:
    report = _report(row)
    here = _problems_of(row, name) if name else []
    context: dict[str, Any] = {
        "draft": row,
        "name": name,
        "new_name": request.POST.get("new_name", ""),
        "text": text,
        "seen": _digest(row.files.get(name, "")),
        "problem": problem,
        "problems": here,
        "elsewhere": len(report.problems) - len(here),
        "applies": _applies(report, text),
        "is_sound": not report.problems,
        "may_write": may_write(request),
        "rows": min(max(text.count("\n") + 3, 16), 40),
    }
    return render(request, "catalog/library_file.html", context, status=status)


def _applies(report: library_report.Report, text: str) -> list[tuple[str, dict[str, list[str]]]]:
    """Where the actions of a file apply; an id stands in the text that defines it, on a line of its own."""
    lines = {line.strip().removeprefix("- ") for line in text.split("\n")}
    return [(action, where) for action, where in report.applies.items() if f"id: {action}" in lines]


@require_GET
def export_draft(request: TeamRequest, slug: str) -> HttpResponse:
    """The files of a draft, sound or not."""
    row = _draft(request, slug)
    return download(to_zip(row.files, row.slug), f"{row.slug}-draft.zip", "application/zip")


def _changes(row: LibraryDraft, report: library_report.Report) -> Any:
    """What a sound draft changes against the version that it was made from."""
    if report.document is None or row.based_on is None:
        return None
    return diff(row.based_on.record, ActionLibrary.load(report.document))


def _problems_of(row: LibraryDraft, name: str) -> list[Problem]:
    return [problem for problem in _report(row).problems if problem.file == name]


def _report(row: LibraryDraft) -> library_report.Report:
    return library_report.Report.load(row.report or {})


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _draft(request: TeamRequest, slug: str) -> LibraryDraft:
    drafts = LibraryDraft.objects.of_team(request.team).select_related("based_on", "team")
    return get_object_or_404(drafts, slug=slug)


def _user(request: TeamRequest) -> User | None:
    return request.user if isinstance(request.user, User) else None


def _writing_team(request: TeamRequest) -> Team:
    demand(request.role, Act.WRITE_LIBRARIES)
    return cast("Team", request.team)
