"""`ks launch`: the launch form as options."""

from __future__ import annotations

import argparse
import json
from typing import Any

from kernelsite.api.client import Client
from kernelsite.api.ks.watch import follow
from kernelsite.api.ks.words import UsageError, say, say_json, search_number

PLAIN = ("library", "title", "clone", "preset")
OPTIONS = (
    "strategy",
    "agent",
    "device_class",
    "evaluations",
    "device_seconds",
    "wall_seconds",
    "tokens",
    "cost_usd",
)
MOST_SEEDS = 10


def launch(parser: argparse.ArgumentParser) -> None:
    """Arguments of `ks launch`; what is left out is the launch form's."""
    parser.add_argument(
        "workload", nargs="?", help="e.g. softmax or softmax@1; needed unless --from is given"
    )
    parser.add_argument("--library", help="e.g. core or core@2")
    parser.add_argument("--title")
    parser.add_argument("--from", dest="clone", type=search_number, metavar="S-142", help="repeat a search")
    parser.add_argument("--preset", choices=["quick-look", "standard", "thorough"])
    parser.add_argument("--strategy", help="e.g. two_stage, mixed")
    parser.add_argument("--agent", help="otherwise the one that fits the device")
    parser.add_argument(
        "--device", dest="device_class", help="device class, e.g. cpu or recorded:<landscape>"
    )
    parser.add_argument("--evaluations", type=int, help="cap on charged evaluations")
    parser.add_argument("--device-seconds", type=float)
    parser.add_argument("--wall-seconds", type=float)
    parser.add_argument("--tokens", type=int, help="cap on tokens of models")
    parser.add_argument("--cost-usd", type=float, help="cap on money for models")
    parser.add_argument(
        "--model", type=int, action="append", metavar="ID", help="a model endpoint; may be repeated"
    )
    parser.add_argument("--seeds", type=seeds, help="e.g. 0 or 0-3 or 0,2; several launch a comparison")
    parser.add_argument("--compare", action="store_true", help="the four strategies at one matched budget")
    parser.add_argument("--review", action="store_true", help="a person decides what stage 2 tunes")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=JSON",
        help="any other option, e.g. stages.retain=3",
    )
    parser.add_argument("--key", default="", help="Idempotency-Key: launched once, however often this runs")
    parser.add_argument("--watch", action="store_true", help="watch it until it is over")
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    parser.set_defaults(run=_launch)


def seeds(text: str) -> list[int]:
    """Seeds from `0`, `0-3`, `0,2`, as `argparse` reads them."""
    found: list[int] = []
    for word in text.split(","):
        first, _, last = word.partition("-")
        if not first.isdecimal() or (last and not last.isdecimal()) or len(word) > 20:
            raise argparse.ArgumentTypeError(f"{word!r} is no seed; write 0 or 0-3 or 0,2")
        found += range(int(first), min(int(last or first), int(first) + MOST_SEEDS) + 1)
    if len(found) > MOST_SEEDS or len(set(found)) < len(found):
        raise argparse.ArgumentTypeError(f"at most {MOST_SEEDS} seeds, each once")
    return found


def fields(options: argparse.Namespace) -> dict[str, Any]:
    """The launch's fields as the client takes them.

    Raises:
        UsageError: a `--set` is wrong.
    """
    found = {
        name: getattr(options, name) for name in (*PLAIN, *OPTIONS) if getattr(options, name) is not None
    }
    for text in options.set:
        _set(found, text)
    if options.model:
        found |= {"endpoints": options.model, "agent": found.get("agent", "llm")}
    if options.review:
        found["review"] = True
    return found


def _set(found: dict[str, Any], text: str) -> None:
    path, sign, value = text.partition("=")
    if not sign or not path:
        raise UsageError(f"--set {text}: write NAME=VALUE")
    *above, name = path.split(".")
    held = found.setdefault("options", {})
    for part in above:
        held = held.setdefault(part, {})
    try:
        held[name] = json.loads(value)
    except ValueError:
        held[name] = value


def _launch(options: argparse.Namespace) -> int:
    if options.workload is None and options.clone is None:
        raise UsageError("name a workload, or a search to repeat: ks launch --from S-142")
    client, wanted = Client(), fields(options)
    if options.compare or len(options.seeds or []) > 1:
        return _compare(client, options, wanted)
    if options.seeds:
        wanted["seed"] = options.seeds[0]
    search = client.searches.launch(options.workload, key=options.key, **wanted)
    site = client.transport.credentials.url
    if options.json:
        say_json({"id": search.id, "short": search.row.short, "url": f"{site}/searches/{search.id}/"})
    else:
        say(f"{search.row.short} {search.row.title}  {site}/searches/{search.id}/")
    return follow(search, as_json=options.json) if options.watch else 0


def _compare(client: Client, options: argparse.Namespace, wanted: dict[str, Any]) -> int:
    if options.watch:
        raise UsageError("--watch watches one search; watch the arms of a comparison by name")
    arms: dict[str, Any] = {"seeds": options.seeds or [0]}
    if not options.compare:
        arms["strategies"] = [wanted.get("strategy", "two_stage")]
    made = client.comparisons.launch(options.workload, key=options.key, **wanted, **arms)
    site = client.transport.credentials.url
    if options.json:
        say_json({"id": made.id, "searches": made.searches, "url": f"{site}/compare/{made.id}/"})
    else:
        names = " ".join(f"S-{number}" for number in made.searches)
        say(f"CMP-{made.id} {made.title}: {names}  {site}/compare/{made.id}/")
    return 0
