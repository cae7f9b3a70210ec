"""`python -m search library check PATH` and `python -m search library diff OLD NEW`.

PATH is a YAML or JSON file, a folder of YAML files, or the name of a shipped library.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from search.library import LibraryError, load_path, shipped_library
from search.library_diff import diff, render

if TYPE_CHECKING:
    from search.actions import ActionLibrary


def library(arguments: list[str]) -> int:
    """Check a library, or compare two.

    Returns:
        0: sound, or no difference. 1: problems or differences, each on a line. 2: wrong use.
    """
    options = _parser().parse_args(arguments)
    try:
        if options.what == "check":
            return _check(options.path)
        return _diff(options.old, options.new, as_json=options.json)
    except LibraryError as error:
        sys.stderr.write(f"{error}\n")
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m search library", description=__doc__)
    commands = parser.add_subparsers(dest="what", required=True)
    check = commands.add_parser("check", help="say every problem of a library")
    check.add_argument("path")
    compare = commands.add_parser("diff", help="say what was added, removed and changed")
    compare.add_argument("old")
    compare.add_argument("new")
    compare.add_argument("--json", action="store_true", help="the records instead of text")
    return parser


def _check(path: str) -> int:
    found = _load(path)
    families = {action.family for action in found.actions}
    sys.stdout.write(
        f"{found.name} {found.version} is sound: {len(found.actions)} actions of {len(families)} families, "
        f"{len(found.decisions)} decisions, {found.hash[:16]}\n"
    )
    return 0


def _diff(old: str, new: str, *, as_json: bool) -> int:
    found = diff(_load(old), _load(new))
    sys.stdout.write((found.model_dump_json(indent=2) if as_json else render(found)) + "\n")
    return 0 if found.is_empty else 1


def _load(path: str) -> ActionLibrary:
    if path.isidentifier() and not Path(path).exists():
        try:
            return shipped_library(path)
        except KeyError as error:
            raise LibraryError(path, ["is neither a file, a folder nor a shipped library"]) from error
    return load_path(Path(path))
