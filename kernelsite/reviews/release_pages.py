"""Page and files of a release. What is downloaded is held against the hash that was approved."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from kernelsite.reviews.models import Release
from kernelsite.searches.evidence import record_of, rightness
from kernelsite.searches.pages import takeaway
from kernelsite.searches.pages.downloads import attachment
from kernelsite.searches.pages.sources import shown_sources
from search.formats import hf_kernels
from search.formats.archives import packed
from search.formats.format import FormatError
from search.records import Language

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelsite.accounts.middleware import TeamRequest

TITLES = {
    "source": "Standalone file",
    "solution": "FlashInfer-Trace solution",
    "traces": "FlashInfer-Trace set with results",
    "hf": "Hugging Face kernels layout",
    "contract": "Contract",
    "evaluation": "Evaluation as JSON",
}
PYTHON_ONLY = ("solution", "traces")


def stem(row: Release) -> str:
    """File name without its ending, e.g. `softmax_r3`."""
    return f"{row.slug}_r{row.number}"


def _of_candidate(kind: str) -> Callable[[Release], takeaway.File]:
    """A file that any candidate has, under the release's name."""

    def write(row: Release) -> takeaway.File:
        name, content = takeaway.DOWNLOADS[kind](row.candidate, row.evaluation)
        return name.replace(takeaway.stem(row.candidate), stem(row)), content

    return write


def _hugging_face(row: Release) -> takeaway.File:
    kernel = hf_kernels.Kernel(
        workload=row.workload.record,
        candidate=row.candidate.record,
        license=row.license,
        evaluation=record_of(row.evaluation),
    )
    files, _ = hf_kernels.write(kernel)
    return f"{stem(row)}_hf.zip", packed(files)


DOWNLOADS: dict[str, Callable[[Release], takeaway.File]] = {
    **{kind: _of_candidate(kind) for kind in takeaway.DOWNLOADS},
    "hf": _hugging_face,
}
"""By the last word of the address.

Raises:
    FormatError: what the format cannot say.
"""


@require_GET
def release(request: TeamRequest, release_id: int) -> HttpResponse:
    """What was approved, by whom, how fast it is, and how to take it away."""
    row = own_release(request, release_id)
    record = record_of(row.evaluation)
    python = row.candidate.language in (Language.TRITON, Language.PYTORCH)
    context = {
        "release": row,
        "record": record,
        "pairs": sum(case.samples for case in record.cases) if record else 0,
        "rightness": rightness(record, row.workload.record),
        "candidate": row.candidate,
        "sources": shown_sources(row.candidate),
        "downloads": [(kind, title) for kind, title in TITLES.items() if python or kind not in PYTHON_ONLY],
        "command": command(row),
        "is_intact": is_intact(row),
        "newer": _newer(row),
    }
    return render(request, "reviews/release.html", context)


def is_intact(row: Release) -> bool:
    """Whether the program is the one that was approved, by its content."""
    return row.candidate.record.hash == row.content_hash


def command(row: Release) -> str:
    """The command that judges the downloaded file again."""
    words = takeaway.command(row.candidate, row.evaluation)
    return words.replace(shlex.quote(takeaway.stem(row.candidate)), stem(row))


def _newer(row: Release) -> Release | None:
    rows = Release.objects.of_team(row.team).filter(slug=row.slug, device_class=row.device_class)
    return rows.filter(pk__gt=row.pk).first()


@require_GET
def release_file(request: TeamRequest, release_id: int, kind: str) -> HttpResponse:
    """One file of a release; a program that is not what was approved is not handed out."""
    row = own_release(request, release_id)
    if not is_intact(row):
        return _said(f"{row.name}: the stored program is not the one that was approved")
    try:
        name, content = DOWNLOADS[kind](row)
    except FormatError as error:
        return _said(str(error))
    return attachment(name, content)


def _said(text: str) -> HttpResponse:
    return HttpResponse(f"{text}\n", status=409, content_type="text/plain; charset=utf-8")


def own_release(request: TeamRequest, release_id: int) -> Release:
    """The release, when it is the team's; others do not learn that it exists."""
    return get_object_or_404(Release.objects.of_team(request.team).with_facts(), pk=release_id)
