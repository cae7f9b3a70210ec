"""What the API takes, and pages of what it gives (`records.py`)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from kernelsite.accounts.models import Role, Scope
from kernelsite.api import records
from kernelsite.compare.launch import FIRST_FOUR
from kernelsite.compare.models import NOTE_LIMIT
from kernelsite.notices.models.webhook import Style

Version = Annotated[str, Field(pattern=r"^[-\w]{1,100}(@\d{1,6})?$", examples=["softmax", "softmax@1"])]
StructureName = Annotated[str, Field(pattern=r"^\d{1,9}\.\d{1,6}$", examples=["142.17"])]
Seed = Annotated[int, Field(ge=0, lt=2**31)]
Reason = Annotated[str, Field(max_length=200)]


class Page(BaseModel):
    """One page of a list; `next` goes on in the address, None at the end."""

    items: list[Any]
    next: int | None


class SearchPage(Page):
    """Searches."""

    items: list[records.SearchAnswer]


class StructurePage(Page):
    """Structures."""

    items: list[records.StructureAnswer]


class CandidatePage(Page):
    """Candidates."""

    items: list[records.CandidateAnswer]


class CallPage(Page):
    """Calls to models."""

    items: list[records.CallAnswer]


class ComparisonPage(Page):
    """Comparisons."""

    items: list[records.ComparisonAnswer]


class SavedSetPage(Page):
    """Saved sets."""

    items: list[records.SavedSetAnswer]


class ActivityPage(Page):
    """The audit trail."""

    items: list[records.ActivityAnswer]


class SharePage(Page):
    """Share links."""

    items: list[records.ShareAnswer]


class NoticePage(Page):
    """Notices."""

    items: list[records.NoticeAnswer]


class DeliveryPage(Page):
    """Deliveries of a webhook."""

    items: list[records.DeliveryAnswer]


class Ordered(BaseModel):
    """What a launch of one search and a launch of several have in common."""

    workload: Version | None = None
    """Needed unless a search is cloned."""
    library: Version | None = None
    """Otherwise that of the clone, or `core`."""
    title: Annotated[str, Field(max_length=200)] = ""
    clone: Annotated[int, Field(ge=1)] | None = None
    """Number of a search whose settings are the start."""
    preset: Literal["quick-look", "standard", "thorough"] | None = None
    """A preset of the launch form; it stands above the clone and below `options`."""
    options: dict[str, Any] = {}
    """Fields of the launch form; `GET /launch-form` has them with their defaults."""
    send_secrets: bool = False
    """Send a workload to a model although it holds what looks like a secret."""


class LaunchBody(Ordered):
    """A search to launch."""


class ComparisonBody(Ordered):
    """Searches to launch side by side, one per strategy and seed, at one budget."""

    strategies: Annotated[list[str], Field(min_length=1, max_length=20)] = list(FIRST_FOUR)
    seeds: Annotated[list[Seed], Field(min_length=1, max_length=10)] = [0]


class CapsBody(BaseModel):
    """The caps as they shall be; null is no cap, and one must stay."""

    tokens: Annotated[int, Field(ge=1, le=2 * 10**9)] | None
    cost_usd: Annotated[float, Field(gt=0)] | None


class SavedSetBody(BaseModel):
    """A set of searches to keep."""

    title: Annotated[str, Field(min_length=1, max_length=200)]
    searches: Annotated[list[Annotated[int, Field(ge=1, le=2**53)]], Field(min_length=1, max_length=96)]
    note: Annotated[str, Field(max_length=NOTE_LIMIT)] = ""


class DecisionBody(BaseModel):
    """Why."""

    reason: Reason = ""


class EndpointBody(BaseModel):
    """A model endpoint. The key is written and never read; a change of the address drops the old one."""

    name: str
    base_url: str
    model: str
    key: Annotated[str, Field(max_length=500)] = ""
    temperature: float | None = None
    max_output_tokens: int = 8192
    context_tokens: int = 32768
    json_schema: bool = False
    streaming: bool = False
    concurrency: int = 4
    requests_per_minute: int | None = None
    deadline_s: float = 240.0


class EndpointChange(BaseModel):
    """What shall be other than it is; fields left out stay."""

    name: str = ""
    base_url: str = ""
    model: str = ""
    key: Annotated[str, Field(max_length=500)] = ""
    drop_key: bool = False
    temperature: float | None = None
    max_output_tokens: int = 0
    context_tokens: int = 0
    json_schema: bool = False
    streaming: bool = False
    concurrency: int = 0
    requests_per_minute: int | None = None
    deadline_s: float = 0.0


class PriceBody(BaseModel):
    """USD per million tokens from a day on."""

    input_usd: float
    output_usd: float
    cached_usd: float | None = None
    valid_from: str
    valid_until: str | None = None


class TokenBody(BaseModel):
    """A token to make; it can do no more and live no longer than the one that asks for it."""

    name: Annotated[str, Field(min_length=1, max_length=80)]
    days: Annotated[int, Field(ge=1, le=365)] = 90
    scopes: Annotated[list[Scope], Field(min_length=1)] = [Scope.READ]


class InvitationBody(BaseModel):
    """Whom to invite, as what."""

    email: Annotated[str, Field(max_length=254)]
    role: Role = Role.MEMBER


class RoleBody(BaseModel):
    """What a member shall be."""

    role: Role


class ShareBody(BaseModel):
    """A link to make. Guests see results; the rest only when it is asked for."""

    kind: Literal["search", "structure", "comparison", "set", "release"]
    thing: Annotated[str, Field(max_length=100, examples=["S-142", "142.17", "R-5", "my-set"])] | int
    title: Annotated[str, Field(max_length=200)] = ""
    days: Annotated[int, Field(ge=1)] = 7
    state: Literal["frozen", "live"] = "frozen"
    tree: bool = True
    code: bool = False
    transcript: bool = False


class ExtendBody(BaseModel):
    """How many days from now the link shall work."""

    days: Annotated[int, Field(ge=1, le=3650)]


class SharingBody(BaseModel):
    """What the team shall allow."""

    is_open: bool
    longest_days: int


class ReadBody(BaseModel):
    """Which notice was read; null: all."""

    notice: int | None = None


class WebhookBody(BaseModel):
    """A webhook to add."""

    name: str
    url: Annotated[str, Field(max_length=1000)]
    events: list[str]
    style: str = Style.STANDARD.value
