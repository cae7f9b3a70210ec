"""Words of columns that only the site knows; everything the engine also knows is in `search.records`."""

from __future__ import annotations

from enum import StrEnum


def choices(words: type[StrEnum]) -> list[tuple[str, str]]:
    """Choices of a column from an enumeration, each word shown as itself."""
    return [(word.value, word.value) for word in words]


def values(words: type[StrEnum]) -> list[str]:
    """Words as plain strings, for constraints: a migration must not depend on today's enumeration."""
    return [word.value for word in words]


class StructureStatus(StrEnum):
    """Where a structure stands in the search."""

    PROPOSED = "proposed"
    PROBING = "probing"
    OPEN = "open"
    RETAINED = "retained"
    TUNING = "tuning"
    TUNED = "tuned"
    DROPPED = "dropped"
    FAILED = "failed"


class StepState(StrEnum):
    """Life of a step. Variants start at `evaluating`, drafts at `asked`."""

    ASKED = "asked"
    PROPOSING = "proposing"
    EVALUATING = "evaluating"
    DONE = "done"


class AttemptState(StrEnum):
    """Life of an evaluation attempt. `queued` and `leased` are open, the rest is final."""

    QUEUED = "queued"
    LEASED = "leased"
    DONE = "done"
    LOST = "lost"
    INFRA = "infra"
    REUSED = "reused"
    CANCELLED = "cancelled"


class CallState(StrEnum):
    """Where a call to a model stands in the ledger; every one but `released` counts against the caps."""

    RESERVED = "reserved"
    SETTLED = "settled"
    UNKNOWN = "unknown"
    RELEASED = "released"


class Choice(StrEnum):
    """How several models of one search share its calls."""

    SHARE = "share"
    BANDIT = "bandit"


class AtCap(StrEnum):
    """What a search does when its cap on tokens or money allows no further call."""

    FINISH = "finish"
    WAIT = "wait"


OPEN_ATTEMPTS = (AttemptState.QUEUED.value, AttemptState.LEASED.value)
