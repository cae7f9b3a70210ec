"""Files of a candidate and tables of a structure, sent so that a browser saves and never opens them."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from django.http import HttpResponse
from django.views.decorators.http import require_GET

from kernelsite.searches.pages.candidate import own_candidate
from kernelsite.searches.pages.ordering import for_rows, ordered
from kernelsite.searches.pages.structure import own_structure
from kernelsite.searches.pages.takeaway import DOWNLOADS, LICENSE, hub
from kernelsite.searches.rows import candidate_row
from search.formats.format import FormatError

if TYPE_CHECKING:
    from kernelsite.accounts.middleware import TeamRequest


COLUMNS = (
    *("id", "purpose", "tier", "stage", "state", "status", "order", "speedup", "low", "high", "median_us"),
    *("device_seconds", "at"),
)


@require_GET
def candidate_file(request: TeamRequest, key: str, kind: str) -> HttpResponse:
    """One file of a candidate; what the format cannot say is answered in words."""
    row, purpose = own_candidate(request, key)
    evaluation = row.evaluations.filter(current=True, purpose=purpose).first()
    try:
        if kind == "hub":
            name, content = hub(row, evaluation, request.GET.get("license", LICENSE)[:80])
        else:
            name, content = DOWNLOADS[kind](row, evaluation)
    except FormatError as error:
        return HttpResponse(f"{error}\n", status=409, content_type="text/plain; charset=utf-8")
    return attachment(name, content)


@require_GET
def structure_csv(request: TeamRequest, key: str) -> HttpResponse:
    """All measured candidates of a structure, in the table's order."""
    row = own_structure(request, key)
    rows = ordered(row, request.GET.get("sort", ""), request.GET.get("outcome", ""))
    found = [candidate_row(each) for each in for_rows(rows)]
    knobs = sorted({name for each in found for name in each["knobs"]})
    table = [[*COLUMNS, *knobs]]
    for each in found:
        table.append([each[name] for name in COLUMNS] + [each["knobs"].get(name) for name in knobs])  # type: ignore[literal-required]
    return attachment(f"structure_{key.replace('.', '_')}.csv", csv_of(table))


def attachment(name: str, content: bytes) -> HttpResponse:
    """A file that a browser saves and never opens in the site's name."""
    response = HttpResponse(content, content_type="application/octet-stream")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def csv_of(table: list[list[Any]]) -> bytes:
    """Rows as CSV; text that a spreadsheet would run as a formula is quoted."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([[_cell(value) for value in row] for row in table])
    return text.getvalue().encode()


def _cell(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value
