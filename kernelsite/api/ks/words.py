"""What commands say: lines in the words of the pages, and nothing that moves the cursor."""

from __future__ import annotations

import argparse
import json
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kernelsite.api.client.paths import number_of
from kernelsite.catalog.plain import visible
from kernelsite.catalog.wording import (
    count_words,
    interval,
    seconds,
    speedup,
    state_words,
    us,
    waits_for_device,
)

if TYPE_CHECKING:
    from kernelsite.api.records import Best, SearchAnswer


class UsageError(Exception):
    """An argument is wrong in a way that the parser cannot see."""


def say(text: str = "") -> None:
    """One line on stdout; signs of strangers that a terminal would obey are written out."""
    line = visible(text).replace("\n", " ")
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def say_json(document: Any) -> None:
    """One line of JSON on stdout."""
    say(json.dumps(document, allow_nan=False, default=str))


def search_number(text: str) -> int:
    """The number of `S-142`, as `argparse` reads it."""
    try:
        return number_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def pill(row: SearchAnswer, now: datetime | None = None) -> str:
    """The state of a search as its page has it, e.g. `waiting: device`."""
    silence = 0.0
    if row.last_event_at is not None:
        silence = ((now or datetime.now(UTC)) - row.last_event_at).total_seconds()
    return state_words(row.state, row.wait_reason, silence)


def queue(row: SearchAnswer) -> str:
    """How many evaluations stand where, e.g. `3 passed · 0 failed · 1 running · 2 queued`."""
    return " · ".join(count_words(row.counts))


def best_words(best: Best | None) -> str:
    """The best candidate in one line, never without what it is measured against."""
    if best is None:
        return "no result yet"
    kind = "confirmed at the full tier" if best.confirmed else "not confirmed yet"
    spread = f" 95 % {interval(best)}" if interval(best) else ""
    against = f"vs {best.baseline} · {us(best.median_us)}"
    return f"{speedup(best.speedup)}{spread} C-{best.candidate} {against} · {kind}"


def status(row: SearchAnswer) -> str:
    """One line about a search: state, stage, budget, queue, what is left."""
    spent = row.budget["evaluations"]
    cap = f" / {spent.cap:.0f}" if spent.cap is not None else ""
    words = [f"[{pill(row)}]", row.stage, f"{spent.spent:.0f}{cap} evaluations", queue(row)]
    if row.eta_s is not None:
        words.append(f"about {seconds(row.eta_s)} left")
    return " · ".join(words)


def note(row: SearchAnswer) -> str:
    """What a person can do about a search that stands still; empty while it does not."""
    if row.state == "waiting" and row.wait_reason == "device":
        return waits_for_device(row.device_class)
    return row.reason
