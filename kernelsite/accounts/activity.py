"""Page of the audit trail: who did what in the team, filtered, and the same as CSV."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

from django.core.paginator import Paginator
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from kernelsite.accounts.models import AuditEntry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.db.models import QuerySet
    from django.http import HttpResponseBase

    from kernelsite.accounts.middleware import TeamRequest

PER_PAGE = 50
FILTERS = ("actor", "verb", "kind")
COLUMNS = (
    "at",
    "actor",
    "token",
    "verb",
    "kind",
    "object_id",
    "name",
    "before",
    "after",
    "reason",
    "address",
)
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First signs that make a spreadsheet calculate."""


@never_cache
@require_GET
def activity(request: TeamRequest) -> HttpResponse:
    """Newest first; `?actor=&verb=&kind=` filter."""
    own = AuditEntry.objects.of_team(request.team)
    choices = {name: own.order_by(name).values_list(name, flat=True).distinct() for name in FILTERS}
    wanted = _wanted(request)
    context = {
        "page": Paginator(_filtered(request), PER_PAGE).get_page(request.GET.get("page")),
        "filters": [(name, choices[name], wanted[name]) for name in FILTERS],
        "is_filtered": any(wanted.values()),
    }
    return render(request, "accounts/activity.html", context)


@never_cache
@require_GET
def activity_csv(request: TeamRequest) -> HttpResponseBase:
    """What the page shows, all pages of it."""
    rows = _filtered(request).values_list(*COLUMNS).iterator(chunk_size=1000)
    headers = {"Content-Disposition": 'attachment; filename="activity.csv"'}
    return StreamingHttpResponse(_lines(rows), content_type="text/csv; charset=utf-8", headers=headers)


def _wanted(request: TeamRequest) -> dict[str, str]:
    return {name: request.GET.get(name, "")[:150] for name in FILTERS}


def _filtered(request: TeamRequest) -> QuerySet[AuditEntry]:
    wanted = {name: word for name, word in _wanted(request).items() if word}
    return AuditEntry.objects.of_team(request.team).filter(**wanted)


class _Echo:
    """A file that gives back what is written."""

    def write(self, text: str) -> str:
        return text


def _lines(rows: Iterator[tuple[Any, ...]]) -> Iterator[str]:
    writer = csv.writer(_Echo())
    yield str(writer.writerow(COLUMNS))
    for row in rows:
        yield str(writer.writerow([_cell(value) for value in row]))


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return json.dumps(value)
    text = value.isoformat() if hasattr(value, "isoformat") else str("" if value is None else value)
    return f"'{text}" if text.startswith(FORMULA) else text
