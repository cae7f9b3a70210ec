"""What the API answers about reviews, releases and gates; without Django, as `records.py`."""

from __future__ import annotations

from datetime import datetime

from kernelsite.api.records import Answer


class GateAnswer(Answer):
    """An automated gate: what must be green before anybody can approve."""

    name: str
    is_green: bool
    text: str
    unsettled: list[str]
    """Clauses that wait for a person to vouch for them."""


class EntryAnswer(Answer):
    """One line of a review's timeline."""

    id: int
    kind: str
    by: str
    revision: int
    text: str
    path: str
    line: int | None
    at: datetime
    counts: bool | None
    """Of a decision: whether it is weighed now."""
    why_not: str


class ReviewAnswer(Answer):
    """A proposal."""

    id: int
    short: str
    state: str
    structure: str
    candidate: str
    content_hash: str
    revision: int
    proposed_by: str
    note: str
    license: str
    created_at: datetime
    moved_at: datetime


class WholeReviewAnswer(ReviewAnswer):
    """A proposal with everything that decides it."""

    seen: str
    """Names what a decision would be about; it goes into the decision's body."""
    gates: list[GateAnswer]
    checklist: dict[str, str]
    entries: list[EntryAnswer]
    release: int | None


class ReleaseAnswer(Answer):
    """An approved kernel."""

    id: int
    name: str
    title: str
    workload: str
    candidate: str
    content_hash: str
    license: str
    device_class: str
    device: str
    speedup: float
    low: float
    high: float
    median_us: float
    baseline: str
    citation: str
    proposed_by: str
    approved_by: list[str]
    is_solo: bool
    released_at: datetime


class ProposedAnswer(Answer):
    """A structure as it stands at a gate."""

    number: int
    title: str
    speedup: float | None
    is_proposed: bool
    """The strategy itself would keep it."""


class SearchGateAnswer(Answer):
    """The gate of a search."""

    is_at_gate: bool
    since: datetime | None
    structures: list[ProposedAnswer]
    """Those of which a program works, the fastest first."""
    additions: list[str]
    """What may be added by hand: `<structure>:<action>`."""
