"""Small things that the client's parts share: pages of lists, bodies of launches, names of searches."""

from __future__ import annotations

import re
import secrets
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kernelsite.api.client.transport import Transport

PER_PAGE = 200
BESIDE = ("library", "title", "clone", "preset", "send_secrets")
"""What a launch's body has beside its options."""
BUDGET = ("evaluations", "device_seconds", "wall_seconds", "tokens", "cost_usd")
STAGES = (
    "explore_share", "retain", "probes", "policy", "review", "stagnation", "floor_speedup", "repairs", "edits", "finalists",
    "sampler",
)  # fmt: skip
NAME = re.compile(r"(?:S-?)?(\d{1,9})", re.IGNORECASE)


def pages(transport: Transport, path: str, cursor: str, query: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every row of a list, page by page."""
    at: int | None = None
    while True:
        page = transport.send("GET", path, query={**query, "limit": PER_PAGE, cursor: at}).document
        yield from page["items"]
        at = page["next"]
        if at is None:
            return


def order(workload: str | None, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Body of a launch. Fields of the budget and of the stages may stand beside the other options."""
    options: dict[str, Any] = {**fields.get("options", {})}
    for name, value in fields.items():
        if name in BUDGET:
            options["budget"] = {**options.get("budget", {}), name: value}
        elif name in STAGES:
            options["stages"] = {**options.get("stages", {}), name: value}
        elif name not in (*BESIDE, "options"):
            options[name] = value
    beside = {name: fields[name] for name in BESIDE if fields.get(name) is not None}
    return {"workload": workload, "options": options} | beside


def new_key() -> str:
    """An Idempotency-Key: the launch may be sent again when its answer was lost."""
    return secrets.token_urlsafe(16)


def number_of(name: str | int) -> int:
    """The number of `142`, `S-142` or `s142`.

    Raises:
        ValueError: it is the name of no search.
    """
    match = NAME.fullmatch(str(name).strip())
    if match is None:
        raise ValueError(f"{name!r} is no search; write S-142 or 142")
    return int(match[1])
