"""`ks share`: links for people without an account."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelsite.api.client import Client
from kernelsite.api.ks.words import UsageError, say, say_json

if TYPE_CHECKING:
    import argparse


def share(parser: argparse.ArgumentParser) -> None:
    """Arguments of `ks share`; frozen, for seven days and without code when nothing is said."""
    parser.add_argument(
        "thing", nargs="?", metavar="S-142", help="also ST-142.17, CMP-3, R-5, or the name of a set"
    )
    parser.add_argument("--title", default="", help="what guests read first")
    parser.add_argument("--days", type=int, default=7, help="7 otherwise")
    parser.add_argument("--live", action="store_true", help="follow the search instead of a frozen picture")
    parser.add_argument("--code", action="store_true", help="also the code of the best candidate")
    parser.add_argument("--transcript", action="store_true", help="also what was said to models")
    parser.add_argument("--no-tree", action="store_true", help="without the structures")
    parser.add_argument("--list", action="store_true", help="the team's links that work")
    parser.add_argument("--revoke", type=int, metavar="ID", help="end a link at once")
    parser.add_argument("--json", action="store_true", help="lines of JSON")
    parser.set_defaults(run=_share)


def _share(options: argparse.Namespace) -> int:
    client = Client()
    if options.list:
        return _list(client, options.json)
    if options.revoke is not None:
        client.shares.end(options.revoke)
        say(f"link {options.revoke} does not work any more")
        return 0
    if options.thing is None:
        raise UsageError("what shall be shared? ks share S-142")
    return _make(client, options)


def _list(client: Client, as_json: bool) -> int:
    rows = list(client.shares)
    if not rows and not as_json:
        say("no link")
    for row in rows:
        if as_json:
            say_json(row.model_dump(mode="json"))
        else:
            until = f"until {row.expires_at:%Y-%m-%d %H:%M}"
            say(f"{row.id:<4} {row.thing} · {row.title} · {until} · opened {row.opens} times")
    return 0


def kind_of(thing: str) -> str:
    """What a name names: `S-142` or `142`, `ST-142.17`, `CMP-3`, `R-5`, else a saved set."""
    word = thing.upper()
    if word.startswith("ST-") or (word.replace(".", "", 1).isdecimal() and "." in word):
        return "structure"
    for prefix, kind in (("CMP-", "comparison"), ("R-", "release")):
        if word.startswith(prefix) and word.removeprefix(prefix).isdecimal():
            return kind
    return "search" if word.removeprefix("S-").isdecimal() else "set"


def _make(client: Client, options: argparse.Namespace) -> int:
    fields = {
        "title": options.title,
        "days": options.days,
        "state": "live" if options.live else "frozen",
        "tree": not options.no_tree,
        "code": options.code,
        "transcript": options.transcript,
    }
    row = client.shares.make(kind_of(options.thing), options.thing, **fields)
    if options.json:
        say_json(row.model_dump(mode="json"))
    else:
        say(row.link)
        say(f"until {row.expires_at:%Y-%m-%d %H:%M} UTC; end it before with: ks share --revoke {row.id}")
    return 0
