"""`ks export`: a search as a file."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelsite.api.client import Client
from kernelsite.api.ks.best import write
from kernelsite.api.ks.words import say, search_number

if TYPE_CHECKING:
    import argparse

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First signs of a text that make a spreadsheet calculate."""


def export(parser: argparse.ArgumentParser) -> None:
    """Arguments of `ks export`."""
    parser.add_argument("search", type=search_number, metavar="S-142")
    parser.add_argument("--format", choices=["csv", "json"], default="csv", help="csv otherwise")
    parser.add_argument("--structure", type=int, metavar="17", help="of this structure only, as CSV")
    parser.add_argument("-o", "--output", type=Path, metavar="PATH", help="otherwise stdout")
    parser.set_defaults(run=_export)


def _export(options: argparse.Namespace) -> int:
    search = Client().searches.get(options.search)
    if options.format == "csv":
        content = csv_text(search.rows(structure=options.structure))
    else:
        document = search.snapshot() | {"settings": search.settings()}
        content = json.dumps(document, indent=1, allow_nan=False) + "\n"
    if options.output is None:
        sys.stdout.write(content)
        return 0
    name = f"{search.row.short}.{options.format}"
    say(f"written: {write(options.output, name, content.encode())}")
    return 0


def csv_text(rows: list[dict[str, Any]]) -> str:
    """Rows as CSV with every column that any of them has."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(row.get(name)) for name in columns] for row in rows)
    return out.getvalue()


def _cell(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
