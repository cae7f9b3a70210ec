"""Reads chat completions as servers really send them: fields missing, of other types, or beside the protocol."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from search.agents.llm.outcomes import CallOutcome, TokenUsage
from search.agents.llm.texts import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

TOKEN_LIMIT = 10**8
"""A number of tokens above it is nonsense."""


@dataclass(frozen=True)
class Completion:
    """What a server's answer says, as far as it can be read."""

    text: str = ""
    refusal: str = ""
    finish: str = ""
    """`finish_reason`; empty when the answer broke off."""
    other: str = ""
    """What came instead of text: `a tool call`, `reasoning alone`, `no choices`."""
    usage: TokenUsage | None = None
    model: str = ""
    fingerprint: str = ""

    @property
    def outcome(self) -> CallOutcome:
        """How the call ended."""
        if self.other == "no choices":
            return CallOutcome.EMPTY
        if self.refusal or self.finish == "content_filter":
            return CallOutcome.REFUSED
        if self.finish in {"length", "max_tokens"}:
            return CallOutcome.TRUNCATED
        if self.finish in {"", "error"}:
            return CallOutcome.INCOMPLETE
        return CallOutcome.OK if self.text.strip() else CallOutcome.EMPTY

    @property
    def detail(self) -> str:
        """Why it is not `ok`, in the server's words where it has any."""
        match self.outcome:
            case CallOutcome.EMPTY:
                return f"no text: {self.other or 'an empty message'}"
            case CallOutcome.REFUSED:
                return self.refusal or "stopped by the provider's content filter"
            case CallOutcome.TRUNCATED:
                return "the output limit was reached"
            case CallOutcome.INCOMPLETE:
                return "the answer broke off: it has no finish reason"
        return ""


def read_completion(document: object) -> Completion | None:
    """A decoded body, or None when it is no chat completion."""
    if not isinstance(document, dict) or not isinstance(document.get("choices"), list):
        return None
    choice = _first(document["choices"])
    message = _mapping(choice.get("message"))
    text = _text(message.get("content"))
    return Completion(
        text=text,
        refusal=_text(message.get("refusal")),
        finish=_word(choice.get("finish_reason")),
        other=_instead_of_text(document["choices"], message),
        usage=read_usage(document.get("usage")),
        model=_word(document.get("model")),
        fingerprint=_word(document.get("system_fingerprint")),
    )


@dataclass(frozen=True)
class WireError:
    """An error that came inside of an answer."""

    status: int
    """HTTP status that the error names; 0 when it names none."""
    words: str


def read_error(document: object) -> WireError | None:
    """The error that some gateways send with status 200, or None."""
    error = _mapping(document).get("error")
    if not error or _mapping(document).get("choices"):
        return None
    if not isinstance(error, dict):
        return WireError(0, str(error)[:1000])
    code = error.get("code")
    status = int(code) if isinstance(code, int | str) and re.fullmatch("[0-9]{3}", str(code)) else 0
    words = (error.get("code"), error.get("type"), error.get("message") or error.get("detail"))
    # Code and type are often the same word.
    said = dict.fromkeys(_text(word)[:1000] for word in words if isinstance(word, str))
    return WireError(status, " ".join(said))


def model_names(document: object) -> tuple[str, ...]:
    """Names in the answer to `/models`.

    Raises:
        ValueError: it is no list of models.
    """
    data = _mapping(document).get("data")
    if not isinstance(data, list):
        raise ValueError("no list of models")
    return tuple(name for entry in data[:1000] if (name := _word(_mapping(entry).get("id"))))


def join_chunks(chunks: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The completion that a stream's chunks add up to; without a finish reason when it broke off."""
    whole: dict[str, Any] = {"choices": []}
    message: dict[str, Any] = {"content": "", "refusal": ""}
    finish: object = None
    for chunk in chunks:
        for field in ("model", "system_fingerprint", "usage"):
            whole[field] = chunk.get(field) or whole.get(field)
        choices = chunk.get("choices")
        if not isinstance(choices, list) or not choices:
            continue
        choice = _first(choices)
        _add_delta(message, _mapping(choice.get("delta")))
        finish = choice.get("finish_reason") or finish
        whole["choices"] = [{"message": message, "finish_reason": finish}]
    return whole


def _add_delta(message: dict[str, Any], delta: Mapping[str, Any]) -> None:
    for field in ("content", "refusal"):
        message[field] += _text(delta.get(field))
    for field in ("tool_calls", "reasoning_content", "reasoning"):
        message[field] = delta.get(field) or message.get(field)


def read_usage(document: object) -> TokenUsage | None:
    """Token counts, or None when they are missing or nonsense."""
    usage = _mapping(document)
    prompt, completion = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    if not prompt or completion is None:
        return None
    cached = _count(_mapping(usage.get("prompt_tokens_details")).get("cached_tokens")) or 0
    reasoning = _count(_mapping(usage.get("completion_tokens_details")).get("reasoning_tokens")) or 0
    return TokenUsage(
        prompt_tokens=prompt,
        cached_tokens=min(cached, prompt),
        completion_tokens=completion,
        reasoning_tokens=min(reasoning, completion),
    )


def _instead_of_text(choices: list[object], message: Mapping[str, Any]) -> str:
    if not choices:
        return "no choices"
    if message.get("tool_calls") or message.get("function_call"):
        return "a tool call"
    if message.get("reasoning_content") or message.get("reasoning"):
        return "reasoning alone"
    return ""


def _first(choices: list[object]) -> Mapping[str, Any]:
    return _mapping(choices[0]) if choices else {}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    """A string, or the text parts of the list form that some servers send."""
    if isinstance(value, list):
        return "".join(_text(_mapping(part).get("text")) for part in value)
    return value if isinstance(value, str) else ""


def _word(value: object) -> str:
    return plain(value[:200]) if isinstance(value, str) else ""


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= TOKEN_LIMIT:
        return None
    return int(value)
