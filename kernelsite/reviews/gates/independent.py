"""Gate: another session has measured the program again, on another device where there is one, and agrees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelsite.catalog.templatetags.show import speedup
from kernelsite.fleet.models import Device
from kernelsite.reviews.gates.gate import Gate, unmeasured
from search.records import Purpose

if TYPE_CHECKING:
    from kernelsite.reviews.subject import Subject
    from search.records import Evaluation, Interval

SLACK = 0.10
"""Share by which the intervals of two sessions may miss each other: clocks and neighbours differ between sessions."""


def independent(subject: Subject) -> Gate:
    """Green once it does."""
    if gate := unmeasured(subject.remeasurement, Purpose.REMEASURE):
        return gate
    first, again = subject.promoted, subject.remeasured
    if first is None or again is None or first.speedup is None or again.speedup is None:
        return Gate("wait", "There is nothing to hold it against: the promotion tier is missing.")
    if not agree(first.speedup, again.speedup):
        both = f"{speedup(first.speedup.value)} then, {speedup(again.speedup.value)} now"
        return Gate("red", f"The two sessions disagree: {both}.", Purpose.REMEASURE)
    if first.measured_by and first.measured_by == again.measured_by:
        return _same_device(subject, again)
    where = f" on {again.measured_by}" if again.measured_by else ""
    return Gate("green", f"{speedup(again.speedup.value)} in a session of its own{where}.", Purpose.REMEASURE)


def agree(one: Interval, other: Interval) -> bool:
    """Whether two intervals overlap, or miss each other by little."""
    return one.low <= other.high * (1 + SLACK) and other.low <= one.high * (1 + SLACK)


def _same_device(subject: Subject, again: Evaluation) -> Gate:
    """Enough where no other device of the class answers."""
    others = Device.objects.online().filter(device_class=subject.candidate.search.device_class)
    if others.exclude(name=again.measured_by).exists():
        text = "Both came from one device, and another of its class is online: ask again."
        return Gate("red", text, Purpose.REMEASURE)
    value = speedup(again.speedup.value if again.speedup else None)
    text = f"{value} in a fresh session on the same device; no other one is online."
    return Gate("green", text, Purpose.REMEASURE)
