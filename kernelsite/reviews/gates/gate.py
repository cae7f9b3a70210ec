"""How one automated gate stands, and the words that the gates about measurements share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelsite.searches.models import AttemptState
from search.records import EvaluationStatus, Purpose

if TYPE_CHECKING:
    from kernelsite.searches.models import Evaluation


WORDS = {Purpose.PROMOTE: "measured at the promotion tier", Purpose.REMEASURE: "measured again"}


@dataclass(frozen=True)
class Gate:
    """`colour` is `green`, `red` or `wait`; only green lets an approval through."""

    colour: str
    text: str
    measure: Purpose | None = None
    """Purpose of the measurement that a person may ask for here."""
    unsettled: tuple[str, ...] = ()
    """Texts of clauses that wait for a person's acknowledgement."""

    @property
    def is_green(self) -> bool:
        """Nothing stands against an approval here."""
        return self.colour == "green"


def unmeasured(row: Evaluation | None, purpose: Purpose) -> Gate | None:
    """The gate of a measurement that has not passed; None of one that has."""
    if row is None:
        return Gate("wait", f"Not {WORDS[purpose]} yet.", purpose)
    match row.state:
        case AttemptState.QUEUED:
            return Gate("wait", "Queued for a device.")
        case AttemptState.LEASED:
            return Gate("wait", "A device is at it.")
        case AttemptState.DONE if row.status == EvaluationStatus.PASSED:
            return None
        case AttemptState.DONE:
            return Gate("red", f"It ended as {row.status}.", purpose)
        case _:
            return Gate("red", f"No device finished it ({row.state}); ask again.", purpose)
