"""`python -m search bench`: strategies against each other on recorded landscapes."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from search.bench.figure import svg
from search.bench.summary import report
from search.bench.table import markdown
from search.bench.tournament import HEADLINE, KNOWN, Rules, tournament
from search.landscapes.files import LandscapeError, find_landscape, landscape_files, read_landscape

if TYPE_CHECKING:
    from collections.abc import Callable

    from search.bench.summary import Report
    from search.landscapes.landscape import Landscape

FAILURE = 0.1
"""Chance that a try at a structure brings no source, where `--failure` does not say."""


def bench(arguments: list[str]) -> int:
    """Play and report; exit status 2 for a landscape that is not there."""
    options = _parser().parse_args(arguments)
    try:
        landscapes = [_landscape(name) for name in options.landscape or landscape_files()]
    except LandscapeError as error:
        sys.stderr.write(f"bench: {error}\n")
        return 2
    if not landscapes:
        sys.stderr.write("bench: there is no landscape to play on; see `python -m search record`\n")
        return 2
    rules = Rules(tuple(options.strategies), options.seeds, options.budget, options.failure)
    started = time.monotonic()
    made = report(landscapes, rules, tournament(landscapes, rules, options.processes, _progress))
    sys.stderr.write(f"\n{time.monotonic() - started:.1f} s\n")
    _write(options, made)
    return 0


def _write(options: argparse.Namespace, made: Report) -> None:
    text = markdown(made)
    if options.markdown:
        options.markdown.write_text(text, "utf-8")
    if options.figure:
        options.figure.write_text(svg(made), "utf-8")
    sys.stdout.write(f"{made.model_dump_json()}\n" if options.json else text)


def _landscape(name: str) -> Landscape:
    """By name, or a file."""
    return read_landscape(Path(name)) if Path(name).is_file() else find_landscape(name)


def _progress(done: int, total: int) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{done} of {total} searches")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m search bench", description=__doc__)
    parser.add_argument(
        "--landscape",
        nargs="+",
        action="extend",
        metavar="NAME",
        help="names or files; otherwise all that ship",
    )
    parser.add_argument("--strategies", nargs="+", choices=KNOWN, default=HEADLINE, metavar="NAME")
    parser.add_argument("--seeds", type=_at_least(1), default=20)
    parser.add_argument("--budget", type=_at_least(4), default=160, help="evaluations of each search")
    parser.add_argument(
        "--failure", type=_share, default=FAILURE, help="chance that a try at a structure brings no source"
    )
    parser.add_argument("--processes", type=_at_least(1), default=None, help="otherwise one per core")
    parser.add_argument("--json", action="store_true", help="one JSON line on stdout instead of markdown")
    parser.add_argument("--markdown", type=Path, metavar="FILE")
    parser.add_argument(
        "--figure", type=Path, metavar="FILE", help="an SVG of mean regret against evaluations"
    )
    return parser


def _at_least(least: int) -> Callable[[str], int]:
    """Reads whole numbers from `least` on, for `argparse`."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} on")
        return int(text)

    return read


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError("must be from 0 to below 1")
    return value
