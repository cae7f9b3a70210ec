"""Subcommands of `python -m search`, one file each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.commands.bench import bench
from search.commands.best import best
from search.commands.find import find
from search.commands.import_ import import_
from search.commands.landscape import landscape
from search.commands.library import library
from search.commands.record import record

if TYPE_CHECKING:
    from collections.abc import Callable

COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "bench": bench,
    "best": best,
    "find": find,
    "import": import_,
    "landscape": landscape,
    "library": library,
    "record": record,
}
"""By name; each takes the arguments after it and returns an exit status."""
