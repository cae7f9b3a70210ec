"""Gate: the program has passed at the promotion tier, on values that nothing has met before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelsite.catalog.templatetags.show import interval, speedup
from kernelsite.reviews.gates.gate import Gate, unmeasured
from search.records import Purpose

if TYPE_CHECKING:
    from kernelsite.reviews.subject import Subject


def promotion(subject: Subject) -> Gate:
    """Green once it has; what a landscape answers is recorded, and measures nothing."""
    if subject.candidate.search.is_recorded:
        return Gate("red", "Its numbers are a landscape's answers. A release needs a device that measures.")
    row = subject.promotion
    if gate := unmeasured(row, Purpose.PROMOTE):
        return gate
    assert row is not None
    text = f"{speedup(row.speedup)} ({interval(row)}) against {row.baseline}."
    return Gate("green", text, Purpose.PROMOTE)
