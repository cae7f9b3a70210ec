"""Answers of planners and analysts: their records, the JSON schema sent with a question, and how text becomes one.

Code never travels inside JSON: models write worse code there, and one wrong escape loses the answer.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, ValidationError

from search.agents.llm.parsing import after_thinking, blocks

TEXT = 600
"""Most characters of a reason or an expectation that are kept."""
STRUCTURES = 8
"""Most structures of one plan that are looked at."""

Short = Annotated[str, StringConstraints(strip_whitespace=True)]


class _Answer(BaseModel):
    """What a model wrote: unlike our own records it may say more than was asked."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class PlannedStructure(_Answer):
    """One structure that a planner proposes."""

    actions: Annotated[tuple[Short, ...], Field(max_length=32)]
    """Ids of all its actions."""
    reason: Short = ""
    expectation: Short = ""


class PlannerAnswer(_Answer):
    """Distinct structures, the most promising first; none where it sees none that is left."""

    structures: tuple[PlannedStructure, ...]


class Belief(_Answer):
    """What a structure may still become, between 0 (prune it) and 1 (the best of all)."""

    structure: Short
    """Its label in the question."""
    worth: Annotated[float, Field(ge=0, le=1)]
    reason: Short = ""


class AnalystAnswer(_Answer):
    """A belief per open structure."""

    beliefs: Annotated[tuple[Belief, ...], Field(min_length=1)]


PLANNER_SCHEMA: dict[str, JsonValue] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["structures"],
    "properties": {
        "structures": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["actions", "reason", "expectation"],
                "properties": {
                    "actions": {"type": "array", "items": {"type": "string"}},
                    "reason": {"type": "string"},
                    "expectation": {"type": "string"},
                },
            },
        }
    },
}
"""In the subset that strict servers take: every property required, nothing else allowed, no lengths or ranges."""

ANALYST_SCHEMA: dict[str, JsonValue] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["beliefs"],
    "properties": {
        "beliefs": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["structure", "worth", "reason"],
                "properties": {
                    "structure": {"type": "string"},
                    "worth": {"type": "number"},
                    "reason": {"type": "string"},
                },
            },
        }
    },
}

AnswerT = TypeVar("AnswerT", bound=_Answer)

_TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")
_SHOWN = 300
_MOST_TRIES = 500
"""Places in a text where an object may begin that are looked at."""


class AnswerError(ValueError):
    """A text that is not the JSON that was asked for; the message goes back to the model."""


class UnusableError(AnswerError):
    """The JSON that was asked for, with nothing in it that can be used."""


def read_answer(text: str, kind: type[AnswerT]) -> AnswerT:
    """The answer in a text: the last JSON object in it that fits.

    It may stand alone, in a fenced block or among prose, and have trailing commas. Of several that fit the last one
    counts, as with code.

    Raises:
        AnswerError: no object, or none that fits; says what is wrong with the last one.
    """
    documents = _objects(after_thinking(text))
    if not documents:
        raise AnswerError("the answer holds no JSON object")
    problem = ""
    for document in reversed(documents):
        try:
            return kind.model_validate(document)
        except ValidationError as error:
            problem = problem or _told(error)
    raise AnswerError(problem)


def _objects(text: str) -> list[dict[str, Any]]:
    """Top-level JSON objects of a text, in order; those of fenced blocks where there are any."""
    fenced = [found for block in blocks(text) for found in _scanned(block.content)]
    return fenced or _scanned(text)


def _scanned(text: str) -> list[dict[str, Any]]:
    decoder = json.JSONDecoder()
    plain = _TRAILING_COMMA.sub("", text)
    found: list[dict[str, Any]] = []
    place, tries = plain.find("{"), 0
    while place >= 0 and tries < _MOST_TRIES:
        tries += 1
        try:
            document, end = decoder.raw_decode(plain, place)
        except (json.JSONDecodeError, RecursionError):
            place = plain.find("{", place + 1)
            continue
        if isinstance(document, dict):
            found.append(document)
        place = plain.find("{", end)
    return found


def _told(error: ValidationError) -> str:
    told = [f"{'.'.join(map(str, one['loc'])) or 'answer'}: {one['msg']}" for one in error.errors()[:3]]
    return "; ".join(told)[:_SHOWN]
