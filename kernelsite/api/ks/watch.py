"""`ks watch`: what the live page shows, as lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelsite.api.client import Client
from kernelsite.api.ks.words import best_words, note, say, say_json, search_number, status

if TYPE_CHECKING:
    import argparse

    from kernelsite.api.client import Search
    from kernelsite.api.records import SearchAnswer

FINISHED = "finished"


def watch(parser: argparse.ArgumentParser) -> None:
    """Arguments of `ks watch`."""
    parser.add_argument("search", type=search_number, metavar="S-142")
    parser.add_argument("--after", type=int, default=0, metavar="SEQ", help="begin after this event")
    parser.add_argument("--json", action="store_true", help="every event as a line of JSON")
    parser.set_defaults(run=_watch)


def _watch(options: argparse.Namespace) -> int:
    search = Client().searches.get(options.search)
    if not options.json:
        say(f"{search.row.short} {search.row.title}")
    return follow(search, as_json=options.json, after=options.after)


def follow(search: Search, *, as_json: bool = False, after: int = 0) -> int:
    """Say every event until the search is over; 0 when it has finished, 1 when it was stopped or failed."""
    told: tuple[object, ...] = ()
    for event in search.watch(after):
        if as_json:
            say_json(event.model_dump(mode="json"))
            continue
        say(f"{event.at.astimezone():%H:%M:%S}  #{event.seq:<5} {event.kind:<22} {event.text}")
        if event.search is not None and (now := _news(search.row)) != told:
            told = now
            _say_status(search.row)
    if as_json:
        say_json({"search": search.row.model_dump(mode="json")})
    else:
        _say_status(search.row)
        say(f"          best: {best_words(search.row.best)}")
    return 0 if search.row.state == FINISHED else 1


def _news(row: SearchAnswer) -> tuple[object, ...]:
    """What calls for a line about the whole search."""
    return row.state, row.wait_reason, row.stage, row.best.candidate if row.best else None


def _say_status(row: SearchAnswer) -> None:
    say(f"          {status(row)}")
    if told := note(row):
        say(f"          {told}")
