"""What calls of a model cost."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from search.records import Record


class Usage(Record):
    """What a model call cost."""

    calls: Annotated[int, Field(ge=0)] = 0
    prompt_tokens: Annotated[int, Field(ge=0)] = 0
    completion_tokens: Annotated[int, Field(ge=0)] = 0
    cost_usd: Annotated[float, Field(ge=0)] = 0.0
