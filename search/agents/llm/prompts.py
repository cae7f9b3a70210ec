"""From a template and parts to the messages of a request, within a budget of tokens.

A template is a Markdown file in `prompts/`: what comes before the line `---` is the system message, the rest the
user message. A place `{{name}}` takes the part of that name. A section of the user message (from one `## ` heading
to the next) none of whose places got a part is left out with its heading.

Which parts stay is decided here and nowhere else: parts that are needed always do; of the others the least
important one gives way first, to its shorter form if it has one, then wholly, until the prompt fits. What gave way
is listed in `ModelRequest.dropped`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from search.agents.llm.outcomes import Message
from search.agents.llm.tokens import estimate_messages

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PROMPT_TOKENS = 12_000
"""Most tokens of a prompt unless told."""
ANSWER_TOKENS = 4_096
"""Room that is left for the answer in a small context window, at most half of it."""
_FOLDER = Path(__file__).parent / "prompts"
_PLACE = re.compile(r"\{\{(\w+)\}\}")
_SECTION = re.compile(r"(?m)^(?=## )")


class PromptError(ValueError):
    """The needed parts alone are larger than the budget."""


@dataclass(frozen=True)
class Part:
    """A piece of a prompt."""

    name: str
    text: str
    """Empty: there is nothing to say, and nothing is dropped."""
    rank: int = 0
    """Importance: 0 is needed, of the others higher numbers give way first."""
    brief: str = ""
    """A shorter form that is tried before the part is left out."""
    stays: bool = False
    """It may shrink, and is never left out."""


@dataclass(frozen=True)
class Prompt:
    """Messages with what was left out of them."""

    messages: tuple[Message, ...]
    dropped: tuple[str, ...]
    """Names of parts; `name (shortened)` where the shorter form is there."""


def budget(context_tokens: int, most: int = PROMPT_TOKENS) -> int:
    """Tokens that a prompt may have in a context window that the answer shares."""
    return min(most, max(context_tokens - ANSWER_TOKENS, context_tokens // 2))


def build(template: str, parts: Sequence[Part], tokens: int, most: int = 0) -> Prompt:
    """Fill a template of `prompts/` with as many parts as fit.

    Args:
        template: name of the file, without its ending.
        parts: one for each place of the template.
        tokens: of all messages, by our estimate; parts give way until they fit.
        most: what the needed parts alone may take, where that is more: a long program has to be shown whole.

    Raises:
        PromptError: the needed parts do not fit.
        KeyError: a place has no part.
    """
    texts = {part.name: part.text for part in parts}
    dropped: dict[str, str] = {}
    giving_way = _giving_way(parts)
    while (size := estimate_messages(messages := _filled(read_template(template), texts))) > tokens:
        if not giving_way and size <= most:
            break
        if not giving_way:
            raise PromptError(f"the prompt needs {size} tokens, and {max(tokens, most)} are allowed")
        part, form = giving_way.pop(0)
        texts[part.name] = form
        dropped[part.name] = f"{part.name} (shortened)" if form else part.name
    return Prompt(messages, tuple(dropped.values()))


@cache
def read_template(name: str) -> str:
    """A file of `prompts/`."""
    return (_FOLDER / f"{name}.md").read_text("utf-8")


def _giving_way(parts: Sequence[Part]) -> list[tuple[Part, str]]:
    """Parts with the form they shrink to, in the order in which they do."""
    optional = sorted((part for part in parts if part.rank and part.text), key=lambda part: -part.rank)
    return [(part, form) for part in optional for form in _forms(part)]


def _forms(part: Part) -> list[str]:
    """What a part becomes, one after the other."""
    return [*([part.brief] if part.brief else []), *([] if part.stays else [""])]


def _filled(template: str, texts: Mapping[str, str]) -> tuple[Message, ...]:
    system, user = template.split("\n---\n", 1)
    sections = [one for section in _SECTION.split(user) if (one := _section(section, texts))]
    return (
        Message(role="system", content=_put(system, texts).strip()),
        Message(role="user", content="\n\n".join(sections)),
    )


def _section(section: str, texts: Mapping[str, str]) -> str:
    """The section with its places filled; empty when it has places and nothing to put there."""
    places = _PLACE.findall(section)
    if places and not any(texts[name] for name in places):
        return ""
    return _put(section, texts).strip()


def _put(text: str, texts: Mapping[str, str]) -> str:
    """In one pass: what is put in is not looked at for places."""
    return _PLACE.sub(lambda place: texts[place[1]], text)
