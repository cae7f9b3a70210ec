"""Workloads as files, in every format that is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpResponse
from django.views.decorators.http import require_GET

from kernelsite.accounts.roles import Act, may
from kernelsite.catalog.library_pages import download
from kernelsite.catalog.models import WorkloadVersion
from kernelsite.catalog.views import version_of
from search.formats.archives import packed
from search.formats.format import Collection, FormatError
from search.formats.registry import FORMATS

if TYPE_CHECKING:
    from kernelsite.accounts.middleware import TeamRequest

CONFLICT = 409


def exported(row: WorkloadVersion, form: str, *, hidden: bool) -> tuple[str, bytes]:
    """A version as a ZIP in a format; a single file as it is.

    Args:
        row: the version.
        form: name of the format.
        hidden: whether hidden cases go along, where the format has such.

    Raises:
        FormatError: there is no such format, or it cannot say what the workload says.
    """
    if form not in FORMATS:
        raise FormatError(f"there is no format {form[:40]!r}; there are {', '.join(FORMATS)}")
    record = row.record
    if not hidden:
        shown = tuple(case for case in record.cases if not case.hidden)
        record = record.model_copy(update={"cases": shown})
    files, _ = FORMATS[form].write(Collection((record,)))
    if len(files) == 1:
        ((path, content),) = files.items()
        return path.rsplit("/", 1)[-1], content
    return f"{row.slug}-{row.version}.{form}.zip", packed(files)


@require_GET
def export(request: TeamRequest, slug: str, version: int, form: str) -> HttpResponse:
    """Download a version; what the format cannot say is answered in words."""
    row, _ = version_of(WorkloadVersion.objects.visible_to(request.team), slug, version)
    try:
        name, content = exported(row, form, hidden=may(request.role, Act.WRITE_WORKLOADS))
    except FormatError as error:
        return HttpResponse(f"{error}\n", status=CONFLICT, content_type="text/plain; charset=utf-8")
    return download(content, name, "application/octet-stream")
