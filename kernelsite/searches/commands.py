"""What a page shows, as commands: for `ks` and for curl. A test runs every line."""

from __future__ import annotations

from dataclasses import dataclass

from kernelsite.searches.keys import read_key


@dataclass(frozen=True)
class Commands:
    """Lines for `ks`, and the path below `/api/v1` that answers with what the page shows; places are the address's."""

    path: str
    ks: tuple[str, ...] = ()


SEARCH = "/searches/{search_id}"
COMMANDS: dict[str, Commands] = {
    "searches:home": Commands("/searches?state=running", ("ks list --state running",)),
    "searches:searches": Commands("/searches", ("ks list",)),
    "searches:search": Commands(
        f"{SEARCH}/snapshot",
        (
            "ks watch S-{search_id}",
            "ks best S-{search_id}",
            "ks export S-{search_id} --format csv",
            "ks share S-{search_id}",
            "ks launch --from S-{search_id}",
        ),
    ),
    "searches:structure": Commands("/structures/{key}", ("ks export S-{search} --structure {structure}",)),
    "searches:candidate": Commands("/candidates/{key}", ("ks candidate C-{key}",)),
    "calls:list": Commands(f"{SEARCH}/calls"),
    "calls:call": Commands(f"{SEARCH}/calls/{{call_id}}"),
    "compare:new": Commands("/launch-form", ("ks launch softmax --preset quick-look",)),
    "compare:comparisons": Commands("/comparisons", ("ks launch softmax --compare --preset quick-look",)),
    "compare:comparison": Commands("/comparisons/{comparison_id}"),
    "compare:saved": Commands("/saved-sets/{slug}"),
    "reviews:queue": Commands("/reviews?state=open"),
    "reviews:review": Commands("/reviews/{review_id}"),
    "reviews:gate": Commands(f"{SEARCH}/gate"),
    "reviews:release": Commands("/releases/{release_id}"),
    "catalog:workloads": Commands("/workloads"),
    "catalog:libraries": Commands("/libraries"),
    "shares:shares": Commands("/shares", ("ks share --list",)),
    "shares:settings": Commands("/sharing"),
    "notices:inbox": Commands("/notices"),
    "notices:webhooks": Commands("/webhooks"),
    "fleet:workers": Commands("/devices", ("ks worker list",)),
    "fleet:worker": Commands(
        "/devices/{device_id}", ("ks worker drain {device_id}", "ks worker enable {device_id}")
    ),
    "endpoints:list": Commands("/models"),
    "endpoints:endpoint": Commands("/models/{endpoint_id}"),
    "team:team": Commands("/team"),
    "team:tokens": Commands("/tokens", ("ks whoami",)),
    "team:activity": Commands("/activity"),
}
"""By the name of the page's view."""


def commands_of(view: str, places: dict[str, object]) -> Commands | None:
    """The commands of a page; `places` are the parts of its address."""
    found = COMMANDS.get(view)
    if found is None:
        return None
    words = dict(places)
    if (key := read_key(f"{places['key']}.1" if view == "searches:structure" else "")) is not None:
        words |= {"search": key.search, "structure": key.structure}
    return Commands(found.path.format(**words), tuple(line.format(**words) for line in found.ks))
