"""Pages of workloads that only read: list, version, difference."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.core.paginator import Paginator
from django.db.models import Q
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from kernelsite.accounts.roles import Act, may
from kernelsite.catalog import standing, workload_text
from kernelsite.catalog.highlight import diff, lines
from kernelsite.catalog.models import WorkloadDraft, WorkloadStatus, WorkloadVersion
from kernelsite.catalog.validation_panel import panel
from kernelsite.catalog.views import results, version_of
from kernelsite.catalog.workload_report import case_bytes
from search.formats import FORMATS

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import QueryDict

    from kernelsite.accounts.middleware import TeamRequest
    from kernelsite.catalog.models import WorkloadQuerySet
    from search.workload import Case, Workload

PER_PAGE = 40
DRAFTS = 8
"""Newest drafts that the list begins with."""
OWNERS = {"team": "this team", "shipped": "shipped"}
COLUMNS = (
    "slug",
    "version",
    "title",
    "op_type",
    "tags",
    "state",
    "owner",
    "hash",
    "searches",
    "best_speedup",
)


@dataclass(frozen=True)
class Wanted:
    """What a list is narrowed to, as the address says it."""

    words: str
    kind: str
    tag: str
    owner: str
    retired: bool

    @classmethod
    def of(cls, query: QueryDict) -> Wanted:
        """Read the address; a word that nobody has finds nothing."""
        words, kind, tag, owner = (
            query.get(name, "")[:100].strip() for name in ("q", "kind", "tag", "owner")
        )
        return cls(words, kind, tag, owner, "retired" in query)

    @property
    def is_any(self) -> bool:
        """Something is left out."""
        return bool(self.words or self.kind or self.tag or self.owner)

    def of_rows(self, rows: WorkloadQuerySet) -> WorkloadQuerySet:
        """The rows that fit."""
        rows = rows if self.retired else rows.launchable()
        rows = rows.newest().found_by(self.words)
        if self.kind:
            rows = rows.filter(op_type=self.kind)
        if self.tag:
            rows = rows.tagged(self.tag)
        if self.owner:
            rows = rows.filter(team__isnull=self.owner == "shipped")
        return rows.order_by("slug")


@require_GET
def workloads(request: TeamRequest) -> HttpResponse:
    """The newest version of every workload that fits, with what searches brought; and the drafts of the team."""
    visible = WorkloadVersion.objects.visible_to(request.team)
    wanted = Wanted.of(request.GET)
    rows = wanted.of_rows(visible).annotate(**results(request.team)).select_related("created_by")
    page = Paginator(rows.defer("document"), PER_PAGE).get_page(request.GET.get("page"))
    drafts = _drafts(request, wanted)
    context = {
        "page": page,
        "wanted": wanted,
        "owners": OWNERS,
        "kinds": visible.exclude(op_type="").order_by("op_type").values_list("op_type", flat=True).distinct(),
        "tags": sorted(
            {tag for tags in visible.order_by().values_list("tags", flat=True) for tag in tags.split()}
        ),
        "drafts": drafts if "drafts" in request.GET else drafts[:DRAFTS],
        "draft_count": drafts.count(),
        "may_write": may_write(request),
    }
    return render(request, "catalog/workloads.html", context)


def _drafts(request: TeamRequest, wanted: Wanted) -> QuerySet[WorkloadDraft]:
    """The team's drafts that hold the words looked for, newest first."""
    rows = WorkloadDraft.objects.of_team(request.team).select_related("based_on").order_by("-updated_at")
    for word in wanted.words.split()[:8]:
        rows = rows.filter(Q(slug__icontains=word) | Q(title__icontains=word))
    return rows.defer("definition", "reference", "report", "based_on__document")


@require_GET
def workloads_csv(request: TeamRequest) -> HttpResponse:
    """The same list, whole."""
    rows = Wanted.of(request.GET).of_rows(WorkloadVersion.objects.visible_to(request.team))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows.annotate(**results(request.team)).select_related("created_by").defer("document"):
        writer.writerow([_cell(value) for value in _csv_row(row)])
    return HttpResponse(
        text.getvalue(),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": 'attachment; filename="workloads.csv"'},
    )


def _csv_row(row: WorkloadVersion) -> list[Any]:
    owner = "shipped" if row.team_id is None else str(row.created_by or "")
    found = [row.slug, row.version, row.title, row.op_type, row.tags.strip(), row.status, owner, row.hash]
    return [*found, getattr(row, "search_count", 0), getattr(row, "best", None)]


def _cell(value: object) -> object:
    """Text that a spreadsheet would run as a formula is quoted."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


@require_GET
def workload(request: TeamRequest, slug: str, version: int | None = None) -> HttpResponse:
    """One version; the newest when the address names none."""
    row, versions = version_of(WorkloadVersion.objects.visible_to(request.team), slug, version)
    record = row.record
    older = [one for one in versions if one.version < row.version and one.team_id == row.team_id]
    context = {
        "workload": row,
        "record": record,
        "versions": versions,
        "reference": lines(record.reference, "python"),
        "cases": shown_cases(record),
        "hidden_count": sum(case.hidden for case in record.cases),
        "searches": row.searches.filter(team=request.team).order_by("-id")[:20],
        "compared": older[0] if older else _seen(request, row.based_on),
        "may_write": may_write(request),
        "is_own": row.team_id is not None,
        "is_published": row.status == WorkloadStatus.PUBLISHED,
        "standing": standing.standing(row),
        "export_formats": [(name, form.title) for name, form in FORMATS.items()],
        **panel(request, row.hash),
    }
    return render(request, "catalog/workload.html", context)


@require_GET
def difference(request: TeamRequest) -> HttpResponse:
    """Two versions, `?old=softmax@1&new=mine@1`; of two lists to choose from where one is missing."""
    rows = WorkloadVersion.objects.visible_to(request.team)
    names = [f"{slug}@{version}" for slug, version in rows.values_list("slug", "version")]
    old, new = (_named(request, request.GET.get(side, "")) for side in ("old", "new"))
    context: dict[str, Any] = {"names": list(dict.fromkeys(names)), "old": old, "new": new}
    if old and new:
        context["files"] = compared(old.record, new.record)
    return render(request, "catalog/workload_diff.html", context)


def compared(old: Workload, new: Workload) -> list[tuple[str, Any]]:
    """Rows of the difference of definition and reference, by the name of the text."""
    pairs = {
        "definition": (workload_text.write(old), workload_text.write(new)),
        "reference.py": (old.reference, new.reference),
    }
    return [(name, diff(before, after)) for name, (before, after) in pairs.items()]


def shown_cases(
    record: Workload,
) -> list[tuple[Case, dict[str, int], list[tuple[str, tuple[int, ...], str]], int]]:
    """Cases that anybody may see, with sizes, shapes and bytes."""
    return [
        (case, record.sizes(case), _shapes(record, case), case_bytes(record, case))
        for case in record.cases
        if not case.hidden
    ]


def _shapes(record: Workload, case: Case) -> list[tuple[str, tuple[int, ...], str]]:
    sizes = record.sizes(case)
    tensors = {**record.inputs, **record.outputs}
    return [(name, record.shape(tensor, sizes), tensor.dtype) for name, tensor in tensors.items()]


def may_write(request: TeamRequest) -> bool:
    """Whether the user may write workloads of the team."""
    return may(request.role, Act.WRITE_WORKLOADS)


def _named(request: TeamRequest, short: str) -> WorkloadVersion | None:
    """The version that somebody sees under `slug@number`; None for an empty name."""
    if not short:
        return None
    slug, _, number = short.rpartition("@")
    if not (number.isascii() and number.isdigit() and len(number) < 9):
        raise Http404
    return version_of(WorkloadVersion.objects.visible_to(request.team), slug, int(number))[0]


def _seen(request: TeamRequest, row: WorkloadVersion | None) -> WorkloadVersion | None:
    return row if row is not None and row.team_id in {None, request.team and request.team.pk} else None
