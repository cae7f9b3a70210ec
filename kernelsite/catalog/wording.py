"""States, numbers and lengths of time in words: the same on pages and in a terminal, so without Django.

`static/js/format.js` says the same in the browser.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

DASH = "\N{EN DASH}"
TIMES = "\N{MULTIPLICATION SIGN}"

STALE_S = 180.0
"""A running search that tells nothing for so long is not called running: what it does is not known."""
COUNTS = ("passed", "failed", "running", "queued", "reused", "infra")


def state_words(state: str, wait_reason: str, silence_s: float = 0.0) -> str:
    """What the pill of a search says, e.g. `waiting: device`."""
    if state == "running" and silence_s > STALE_S:
        return f"stale: no event for {seconds(silence_s)}"
    return f"{state}: {wait_reason.replace('_', ' ')}" if wait_reason else state


def count_words(counts: Mapping[str, int]) -> list[str]:
    """How many evaluations stand where, e.g. `3 queued`."""
    return [f"{counts.get(name, 0)} {name}" for name in COUNTS]


def waits_for_device(device_class: str) -> str:
    """What a search says that no device will take."""
    return f"No device of class {device_class} is online. The search goes on by itself when one says hello."


def speedup(value: float | str | None) -> str:
    """Two digits and the multiplication sign; a dash when nothing was measured."""
    if not isinstance(value, float | int):
        return DASH
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{digits}f}{TIMES}"


def interval(row: Any) -> str:
    """Low and high with one sign, of anything with `low` and `high`; empty when there is none."""
    low, high = _get(row, "low"), _get(row, "high")
    return "" if low is None or high is None else f"{speedup(low)[:-1]}{DASH}{speedup(high)}"


def _get(row: Any, name: str) -> Any:
    return row.get(name) if isinstance(row, Mapping) else getattr(row, name, None)


def us(value: float | str | None) -> str:
    """A time given in microseconds, with three digits and a fitting unit."""
    if not isinstance(value, float | int):
        return DASH
    for scale, unit in ((1e6, "s"), (1e3, "ms")):
        if value >= scale:
            return f"{three(value / scale)} {unit}"
    return f"{three(value)} µs"


def three(value: float) -> str:
    """Three digits."""
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def seconds(value: float | str | None) -> str:
    """A length of time given in seconds."""
    if not isinstance(value, float | int):
        return DASH
    if 0 < value < 1:
        return f"{value * 1000:.0f} ms"
    if value < 10:
        return f"{value:.1f} s"
    whole = round(value)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole // 60 % 60:02d} min"


def knobs(values: Mapping[str, object] | None) -> str:
    """`BM=64 BN=32`, or `defaults`."""
    return " ".join(f"{name}={as_json(value)}" for name, value in (values or {}).items()) or "defaults"


def as_json(value: object) -> str:
    """A plain value on one line; text stays as it is, and nothing is called nothing."""
    if value in ({}, []):
        return "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
