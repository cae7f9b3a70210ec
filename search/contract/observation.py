"""What a clause sees in a program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import JsonValue

    from search.contract.facts import Gap, Program


@dataclass(frozen=True)
class Observation:
    """A value in the shape of the clause's own, with the evidence."""

    value: JsonValue
    evidence: str
    line: int | None = None
    gaps: tuple[Gap, ...] = ()
    """What could make the value wrong."""


def _never(wanted: JsonValue, seen: JsonValue) -> bool:
    del wanted, seen
    return False


@dataclass(frozen=True)
class ClauseReader:
    """How one kind of clause is seen in a program, and compared with what the contract says."""

    observe: Callable[[Program, str], Observation]
    """Takes the clause's subject."""
    agrees: Callable[[JsonValue, JsonValue], bool]
    """Takes the contract's value and the one that was seen."""
    breaks: Callable[[JsonValue, JsonValue], bool] = _never
    """Whether what was seen breaks the contract's value even if there is more that was not understood."""
