"""Pages of action libraries that only read: list, version, statistics, difference, export."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Count, Q
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from kernelsite.accounts.roles import Act, may
from kernelsite.catalog import library_report, library_statistics
from kernelsite.catalog.library_files import to_files, to_yaml, to_zip
from kernelsite.catalog.models import LibraryDraft, LibraryStatus, LibraryVersion
from kernelsite.catalog.views import version_of
from search.actions import ActionFamily
from search.library_diff import diff

if TYPE_CHECKING:
    from kernelsite.accounts.middleware import TeamRequest
    from search.actions import Action, ActionLibrary


def may_write(request: TeamRequest) -> bool:
    """Whether the user may change what the team owns."""
    return may(request.role, Act.WRITE_LIBRARIES)


@require_GET
def libraries(request: TeamRequest) -> HttpResponse:
    """The newest version of every library, and the drafts of the team."""
    visible = LibraryVersion.objects.visible_to(request.team)
    counted = (
        visible.order_by()
        .values_list("slug", "team")
        .annotate(n=Count("searches", filter=Q(searches__team=request.team)))
    )
    uses = {(slug, team): n for slug, team, n in counted}
    rows = visible.newest().order_by("slug")
    context = {
        "libraries": [(row, row.record, uses[row.slug, row.team_id]) for row in rows],
        "drafts": LibraryDraft.objects.of_team(request.team)
        .select_related("based_on")
        .defer("files", "report", "based_on__document"),
        "may_write": may_write(request),
    }
    return render(request, "catalog/libraries.html", context)


@require_GET
def library(request: TeamRequest, slug: str, version: int | None = None) -> HttpResponse:
    """One version, its actions by family."""
    row, versions = version_of(LibraryVersion.objects.visible_to(request.team), slug, version)
    older = [one for one in versions if one.version < row.version and one.team_id == row.team_id]
    record = row.record
    context = {
        "library": row,
        "record": record,
        "versions": versions,
        "families": _families(record),
        "applies": library_report.applies(row),
        "compared": older[0] if older else _seen(request, row.based_on),
        "may_write": may_write(request),
        "is_own": row.team_id is not None,
        "is_published": row.status == LibraryStatus.PUBLISHED,
    }
    return render(request, "catalog/library.html", context)


@require_GET
def statistics(request: TeamRequest, slug: str, version: int) -> HttpResponse:
    """What each action brought in the team's searches."""
    row, versions = version_of(LibraryVersion.objects.visible_to(request.team), slug, version)
    figures = library_statistics.figures(row, request.team)
    context = {
        "library": row,
        "versions": versions,
        "figures": sorted((one for one in figures if one.tried), key=lambda one: -one.tried),
        "untried": [one.action for one in figures if not one.tried],
        "least": library_statistics.LEAST,
    }
    return render(request, "catalog/library_statistics.html", context)


@require_GET
def difference(request: TeamRequest) -> HttpResponse:
    """Two versions, `?old=core@2&new=mine@1`; of two lists to choose from where one is missing."""
    rows = LibraryVersion.objects.visible_to(request.team)
    names = [row.short for row in rows.order_by("slug", "-version")]
    old, new = (_named(request, request.GET.get(side, "")) for side in ("old", "new"))
    found = diff(old.record, new.record) if old and new else None
    context = {"names": names, "old": old, "new": new, "diff": found}
    return render(request, "catalog/library_diff.html", context)


@require_GET
def export(request: TeamRequest, slug: str, version: int, form: str) -> HttpResponse:
    """A version as one YAML file, or as a ZIP archive of a folder with a file per action."""
    row, _ = version_of(LibraryVersion.objects.visible_to(request.team), slug, version)
    name = f"{row.slug}-{row.version}"
    if form == "yaml":
        return download(to_yaml(row.record).encode(), f"{name}.yaml", "application/yaml")
    if form == "zip":
        return download(to_zip(to_files(row.record), row.slug), f"{name}.zip", "application/zip")
    raise Http404


def download(data: bytes, name: str, kind: str) -> HttpResponse:
    """A file to be saved, never shown."""
    return HttpResponse(
        data, content_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'}
    )


def _named(request: TeamRequest, short: str) -> LibraryVersion | None:
    """The version that somebody sees under `slug@number`; None for an empty name."""
    if not short:
        return None
    slug, _, number = short.rpartition("@")
    if not (number.isascii() and number.isdigit() and len(number) < 9):
        raise Http404
    return version_of(LibraryVersion.objects.visible_to(request.team), slug, int(number))[0]


def _seen(request: TeamRequest, row: LibraryVersion | None) -> LibraryVersion | None:
    return row if row is not None and row.team_id in {None, request.team and request.team.pk} else None


def _families(record: ActionLibrary) -> list[tuple[ActionFamily, list[Action]]]:
    found: dict[ActionFamily, list[Action]] = {}
    for action in record.actions:
        found.setdefault(action.family, []).append(action)
    return [(family, found[family]) for family in ActionFamily if family in found]
