"""What the API takes and gives; searches look as they do in `snapshot.json`."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from ninja import Schema
from pydantic import Field

from kernelsite.searches.launch import Options


class Page(Schema):
    """One page of a list; `next` goes on in the address as `before`, None at the end."""

    items: list[dict[str, Any]]
    next: int | None


class LaunchBody(Schema):
    """A search to launch; options left out are the launch form's."""

    workload: Annotated[str, Field(pattern=r"^[-\w]{1,100}(@\d{1,6})?$", examples=["softmax", "softmax@1"])]
    library: Annotated[str, Field(pattern=r"^[-\w]{1,100}(@\d{1,6})?$")] = "core"
    title: Annotated[str, Field(max_length=200)] = ""
    options: Options


class ComparisonRow(Schema):
    """A launched comparison."""

    id: int
    title: str
    created_at: datetime
    searches: list[int]


class DeviceRow(Schema):
    """A device, as its worker describes it."""

    id: int
    name: str
    device_class: str
    model: str
    state: str
    last_seen_at: datetime


class DecisionBody(Schema):
    """Why."""

    reason: Annotated[str, Field(max_length=200)] = ""
