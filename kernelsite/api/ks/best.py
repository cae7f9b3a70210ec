"""`ks best` and `ks candidate`: one candidate with its program."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelsite.api.client import Client
from kernelsite.api.ks.words import best_words, say, say_json, search_number
from kernelsite.catalog.wording import knobs, speedup, us

if TYPE_CHECKING:
    from kernelsite.api.client import Search

KINDS = ("source", "solution", "traces", "contract", "evaluation")
NO_RESULT = 1
NAME = re.compile(r"(?:C-)?(\d{1,9}\.\d{1,6}\.\d{1,6}[a-z]?)", re.IGNORECASE)


def best(parser: argparse.ArgumentParser) -> None:
    """Arguments of `ks best`."""
    parser.add_argument("search", type=search_number, metavar="S-142")
    _add_ways(parser)
    parser.set_defaults(run=_best)


def candidate(parser: argparse.ArgumentParser) -> None:
    """Arguments of `ks candidate`."""
    parser.add_argument("candidate", type=candidate_name, metavar="C-142.17.031")
    _add_ways(parser)
    parser.set_defaults(run=_candidate)


def _add_ways(parser: argparse.ArgumentParser) -> None:
    where = "write the file there; a folder keeps its name"
    parser.add_argument("-o", "--output", type=Path, metavar="PATH", help=where)
    parser.add_argument(
        "--as", dest="kind", choices=KINDS, default="source", help="which file; source otherwise"
    )
    parser.add_argument(
        "--json", action="store_true", help="the candidate with its program as a line of JSON"
    )


def candidate_name(text: str) -> str:
    """`C-142.17.031` without its letter, as `argparse` reads it."""
    match = NAME.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no candidate; write C-142.17.031")
    return match[1]


def _best(options: argparse.Namespace) -> int:
    search = Client().searches.get(options.search)
    found = search.row.best
    if found is None:
        say(f"{search.row.short} has no result yet")
        return NO_RESULT
    if not options.json:
        say(f"{search.row.short} {best_words(found)}")
    beside = {"baseline": found.baseline, "confirmed": found.confirmed}
    _hand_over(search, found.candidate, options, beside)
    return 0


def _candidate(options: argparse.Namespace) -> int:
    search = Client().searches.get(options.candidate.partition(".")[0])
    if not options.json:
        row = search.candidate(options.candidate)
        words = [f"C-{row.id}", row.status or row.state, row.purpose, speedup(row.speedup), us(row.median_us)]
        say(" · ".join([*words, knobs(row.knobs)]))
    _hand_over(search, options.candidate, options, {})
    return 0


def _hand_over(search: Search, name: str, options: argparse.Namespace, beside: dict[str, Any]) -> None:
    if options.json:
        say_json(search.candidate(name).model_dump(mode="json") | beside)
    if options.output is not None:
        file = search.file(name, options.kind)
        say(f"written: {write(options.output, file.file_name, file.content)}")


def write(where: Path, name: str, content: bytes) -> Path:
    """Write a file at a path, or under its own name in a folder."""
    path = where / name if where.is_dir() else where
    path.write_bytes(content)
    return path
