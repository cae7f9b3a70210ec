"""What the API answers, for the server's description and the client alike: the rows that pages and sockets show.

No Django here: the client imports it. Fields that a newer server adds are kept (`extra="allow"`).
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict


class Answer(BaseModel):
    """One row of an answer."""

    model_config = ConfigDict(extra="allow", frozen=True)


class Spending(Answer):
    """Spent against a cap; None is no cap."""

    spent: float
    cap: float | None


class Best(Answer):
    """The best candidate of a search: its speed-up over `baseline` with the 95 % interval."""

    candidate: str
    structure: str
    speedup: float
    low: float | None
    high: float | None
    median_us: float | None
    baseline: str
    confirmed: bool
    """Measured again at the full tier."""


class Live(Answer):
    """The part of a search that changes; most events carry it."""

    state: str
    wait_reason: str
    stage: str
    reason: str
    started_at: datetime | None
    finished_at: datetime | None
    last_event_at: datetime | None
    budget: dict[str, Spending]
    eta_s: float | None
    counts: dict[str, int]
    best: Best | None
    gate_since: datetime | None = None
    """Since when it waits for a person's decision about its structures."""
    gate_wait_s: float = 0.0
    """Seconds it waited so before."""


class WorkloadName(Answer):
    """Which workload version."""

    slug: str
    name: str
    version: int
    hash: str


class LibraryName(Answer):
    """Which library version."""

    slug: str
    version: int


class SearchAnswer(Live):
    """A search."""

    id: int
    short: str
    title: str
    strategy: str
    agent: str
    seed: int
    device_class: str
    language: str
    workload: WorkloadName
    library: LibraryName
    created_at: datetime


class StructureBest(Answer):
    """The best candidate of a structure."""

    candidate: str
    speedup: float
    low: float | None
    high: float | None
    median_us: float | None


class StructureAnswer(Answer):
    """A structure, without its blueprint."""

    id: str
    number: int
    fingerprint: str
    parent: int | None
    title: str
    actions: list[str]
    status: str
    retained: bool
    evaluations: int
    passed: int
    best: StructureBest | None
    created_seq: int


class CandidateAnswer(Answer):
    """A candidate as it was measured for one purpose, without its source."""

    id: str
    number: int
    structure: int
    step: int
    stage: str
    kind: str
    purpose: str
    tier: str
    state: str
    status: str | None
    speedup: float | None
    low: float | None
    high: float | None
    median_us: float | None
    knobs: dict[str, Any]
    order: int | None
    device_seconds: float
    spent_device_seconds: float | None
    spent_tokens: int | None
    spent_cost_usd: float | None
    at: datetime


class EventAnswer(Answer):
    """One event of a search's log, with the rows as they were after it."""

    seq: int
    kind: str
    at: datetime
    text: str
    search: Live | None
    structure: StructureAnswer | None
    candidate: CandidateAnswer | None


class EventsAnswer(Answer):
    """Events after a number. A change of `epoch` means that numbers begin anew."""

    epoch: str
    seq: int
    """The last event there is."""
    state: str
    items: list[EventAnswer]
    next: int
    """Ask on with `after` of this number."""


class SourceFile(Answer):
    """A file of a program."""

    path: str
    content: str


class ProgramAnswer(CandidateAnswer):
    """A candidate with its program; knob values are not written into the source."""

    language: str
    entry_point: str
    hash: str
    parent: str | None
    note: str
    sources: list[SourceFile]


class AttemptAnswer(Answer):
    """One attempt to measure a candidate; at most one of each purpose counts."""

    id: int
    purpose: str
    tier: str
    attempt: int
    state: str
    status: str | None
    counted: bool
    charged: bool
    note: str
    environment: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class CallAnswer(Answer):
    """A call to a model, without its texts."""

    id: int
    step: int
    endpoint: str
    host: str
    model: str
    role: str
    number: int
    state: str
    outcome: str
    tokens: int
    usd: float
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    latency_s: float | None
    at: datetime


class ComparisonAnswer(Answer):
    """Searches that were launched together."""

    id: int
    title: str
    created_at: datetime
    searches: list[int]


class SavedSetAnswer(Answer):
    """Searches that somebody keeps side by side under a name."""

    slug: str
    title: str
    note: str
    searches: list[int]
    created_at: datetime


class DeviceAnswer(Answer):
    """A device as its worker describes it; `state` is the word that pages show."""

    id: int
    name: str
    device_class: str
    model: str
    state: str
    driver: str
    runtime: str
    sandbox: str
    in_hand: list[int]
    quarantine: str
    reason: str
    last_seen_at: datetime


class PriceAnswer(Answer):
    """USD per million tokens from a day on."""

    id: int
    input_usd: float
    cached_usd: float | None
    output_usd: float
    valid_from: str
    valid_until: str | None


class EndpointAnswer(Answer):
    """A model endpoint; its key is never shown, only the last characters of a long one."""

    id: int
    name: str
    base_url: str
    model: str
    has_key: bool
    key_hint: str
    temperature: float | None
    max_output_tokens: int
    context_tokens: int
    json_schema: bool
    streaming: bool
    concurrency: int
    requests_per_minute: int | None
    deadline_s: float
    is_disabled: bool
    test_outcome: str
    tested_at: datetime | None
    prices: list[PriceAnswer]


class TokenAnswer(Answer):
    """A token; the secret itself is in the answer to its making only."""

    id: int
    name: str
    user: str
    scopes: list[str]
    prefix: str
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime | None
    is_live: bool


class NewTokenAnswer(TokenAnswer):
    """A new token with its secret, this once."""

    token: str


class MemberAnswer(Answer):
    """A member of the team."""

    id: int
    user: str
    role: str
    joined_at: datetime


class InvitationAnswer(Answer):
    """An invitation that can still be accepted."""

    id: int
    email: str
    role: str
    expires_at: datetime


class NewInvitationAnswer(InvitationAnswer):
    """A new invitation with its link, this once."""

    link: str


class TeamAnswer(Answer):
    """The team of the token."""

    slug: str
    name: str
    members: list[MemberAnswer]
    invitations: list[InvitationAnswer]


class SelfAnswer(Answer):
    """Whom the token stands for, and what it may."""

    user: str
    team: str
    role: str
    scopes: list[str]
    token: str
    """First characters of the token."""


class ActivityAnswer(Answer):
    """One entry of the audit trail."""

    id: int
    at: datetime
    actor: str
    token: str
    verb: str
    kind: str
    object_id: int | None
    name: str
    before: dict[str, Any]
    after: dict[str, Any]
    reason: str
    address: str


class ShareAnswer(Answer):
    """A link for people without an account; its address is in the answer to its making only."""

    id: int
    kind: str
    thing: str
    title: str
    has_tree: bool
    has_code: bool
    has_transcript: bool
    is_live: bool
    is_ended: bool
    opens: int
    created_at: datetime
    expires_at: datetime
    last_opened_at: datetime | None


class NewShareAnswer(ShareAnswer):
    """A new link with its address, this once."""

    link: str


class SharingAnswer(Answer):
    """What the team allows."""

    is_open: bool
    longest_days: int
    is_site_open: bool
    """The switch over every link of the site."""


class NoticeAnswer(Answer):
    """Something that the person was told."""

    id: int
    event: str
    title: str
    text: str
    link: str
    created_at: datetime
    read_at: datetime | None


class WebhookAnswer(Answer):
    """A webhook; of its address only the host is shown."""

    id: int
    name: str
    host: str
    style: str
    events: list[str]
    off_at: datetime | None
    off_reason: str
    failures: int


class NewWebhookAnswer(WebhookAnswer):
    """A new webhook with the secret that signs its deliveries, this once."""

    secret: str


class DeliveryAnswer(Answer):
    """A notice on its way to a webhook."""

    id: int
    uid: str
    title: str
    state: str
    attempts: int
    due_at: datetime
    sent_at: datetime | None
    tries: list[dict[str, Any]]
