"""What a search has to be read and taken away: its log in stretches, its beliefs, its candidates as CSV."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, HttpResponseBase, JsonResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from kernelsite.searches import beliefs, snapshot
from kernelsite.searches.models import Search

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kernelsite.accounts.middleware import TeamRequest

PER_ANSWER = 250
LONGEST_NUMBER = 12
COLUMNS = (
    "id", "structure", "step", "stage", "purpose", "tier", "state", "status", "order", "speedup", "low", "high",
    "median_us", "device_seconds", "spent_device_seconds", "at",
)  # fmt: skip


@require_GET
@never_cache
@login_required
def log_json(request: TeamRequest, search_id: int) -> HttpResponse:
    """Texts of the log before or after a number, at most 250, filtered by kind and structure."""
    search = _own(request, search_id)
    try:
        page = read_page(request.GET)
    except ValueError as error:
        return JsonResponse({"error": str(error)}, status=400)
    return JsonResponse(
        {"epoch": search.epoch, "events": page.rows(search.pk, PER_ANSWER), "limit": PER_ANSWER}
    )


@require_GET
@never_cache
@login_required
def beliefs_json(request: TeamRequest, search_id: int) -> HttpResponse:
    """The timeline of beliefs; empty for strategies that hold none."""
    return JsonResponse(dict(beliefs.timeline(_own(request, search_id))))


@require_GET
@never_cache
@login_required
def candidates_csv(request: TeamRequest, search_id: int) -> HttpResponseBase:
    """One line per candidate and purpose, as a file; knobs stand as JSON in the last column."""
    search = _own(request, search_id)
    rows = snapshot.take(search.pk)["candidates"]
    name = f"{search.short}-candidates.csv"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    lines = csv_lines([dict(row) for row in rows])
    return StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8", headers=headers)


def read_page(query: Mapping[str, str]) -> snapshot.Page:
    """The stretch of the log that an address asks for.

    Raises:
        ValueError: a number is none; the message names its field.
    """
    numbers = {name: _number(query, name) for name in ("before", "after", "structure")}
    return snapshot.Page(**numbers, family=query.get("family", "")[:30])


def _number(query: Mapping[str, str], name: str) -> int | None:
    text = query.get(name, "")
    if not text:
        return None
    if not text.isdecimal() or len(text) > LONGEST_NUMBER:
        raise ValueError(f"{name} must be a whole number, 0 or more")
    return int(text)


def csv_lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Lines of a CSV file: a head, then one per row."""
    yield _line([*COLUMNS, "knobs"])
    for row in rows:
        yield _line([*(row[name] for name in COLUMNS), json.dumps(row["knobs"])])


def _line(cells: list[Any]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer).writerow(cells)
    return buffer.getvalue()


def _own(request: TeamRequest, search_id: int) -> Search:
    return get_object_or_404(Search.objects.of_team(request.team), pk=search_id)
