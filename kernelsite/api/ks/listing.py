"""`ks list`: the team's searches."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from kernelsite.api.client import Client
from kernelsite.api.ks.words import best_words, pill, say, say_json

if TYPE_CHECKING:
    import argparse


def listing(parser: argparse.ArgumentParser) -> None:
    """Arguments of `ks list`."""
    parser.add_argument("--state", default="", help="e.g. running")
    parser.add_argument("--workload", default="", help="e.g. softmax")
    parser.add_argument("-n", dest="most", type=int, default=20, help="how many; 20 otherwise")
    parser.add_argument("--json", action="store_true", help="every search as a line of JSON")
    parser.set_defaults(run=_list)


def _list(options: argparse.Namespace) -> int:
    found = Client().searches.find(state=options.state, workload=options.workload)
    rows = [search.row for search in islice(found, max(0, options.most))]
    if not rows and not options.json:
        say("no such search")
    for row in rows:
        if options.json:
            say_json(row.model_dump(mode="json"))
        else:
            say(f"{row.short:<8} [{pill(row)}] {row.title} · {best_words(row.best)}")
    return 0
