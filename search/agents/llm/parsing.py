"""Which code block of an answer counts. One rule:

**The last complete block in the asked language that defines the entry point.**

- A block starts with a line of three or more backticks or tildes and is complete with a line of at least as many of
  the same sign and nothing else (CommonMark). A longer fence may therefore hold shorter ones.
- A block is in the asked language when the first word after its opening fence says so. Blocks without a word count
  only when no complete block names the language.
- A block that holds a patch, or leaves code out ("rest unchanged"), is no program.
- What a model thought aloud (`<think>…</think>`) is not part of its answer.

Everything that keeps an answer from being one program has a name in `Reading`, and so has a choice that was made:
`SEVERAL` says that earlier programs in the answer were passed over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from search.records import SOURCE_LIMIT_BYTES, Language


class Reading(StrEnum):
    """What was found in an answer."""

    PROGRAM = "program"
    """Exactly one program."""
    SEVERAL = "several"
    """More than one, not all alike; the last one counts."""
    NO_BLOCK = "no_block"
    UNCLOSED = "unclosed"
    """The only block that could count has no end: the answer broke off."""
    OTHER_LANGUAGE = "other_language"
    PATCH = "patch"
    PLACEHOLDER = "placeholder"
    """Code was left out."""
    NO_ENTRY_POINT = "no_entry_point"
    TOO_LONG = "too_long"

    @property
    def is_program(self) -> bool:
        """There is a program to go on with."""
        return self in {Reading.PROGRAM, Reading.SEVERAL}


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    label: str
    """First word after the opening fence, in lower case."""
    content: str
    complete: bool


@dataclass(frozen=True)
class Program:
    """What an answer was read as; `source` is empty unless `reading.is_program`."""

    reading: Reading
    source: str = ""
    problem: str = ""
    """Why there is none."""


LABELS: dict[Language, frozenset[str]] = {
    Language.CPP: frozenset({"cpp", "c++", "cc", "cxx", "c", "hpp"}),
    Language.CUDA: frozenset({"cuda", "cu", "cuda-cpp", "cuda-c++", "cpp", "c++"}),
    Language.TRITON: frozenset({"python", "py", "python3", "triton"}),
    Language.PYTORCH: frozenset({"python", "py", "python3", "pytorch"}),
}
"""First words of a fence that name a language."""

FENCE_WORD: dict[Language, str] = {
    Language.CPP: "cpp",
    Language.CUDA: "cuda",
    Language.TRITON: "python",
    Language.PYTORCH: "python",
}
"""The word that prompts ask for."""

ANSWER_LIMIT = 2 * SOURCE_LIMIT_BYTES
"""Characters of an answer that are looked at."""

_OPENING = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*)")
_THINKING = re.compile(r"<(?P<end>/?)think(?:ing)?>", re.IGNORECASE)
_HUNK = re.compile(r"(?m)^@@ .*@@|^(?:---|\+\+\+) [ab]/|^<{5,} SEARCH|^diff --git ")
_LEFT_OUT = re.compile(
    r"(?:(?://|#|/\*)[ \t]*)?(?:\.{3}|…)[ \t]*(?:\(?(?:the )?(?:rest|remaining|existing|same|unchanged|previous|your)\b.*)?"
    r"(?:\*/)?$"
    r"|(?://|#|/\*).*\b(?:rest of (?:the )?(?:code|kernel|file|program|function)|same as (?:before|above)"
    r"|(?:code|kernel|function)s? (?:remains?|stays?|is|are) (?:unchanged|the same)|unchanged from (?:before|above))\b",
    re.IGNORECASE,
)
"""A line that stands for code which is not there."""
_LINE = 200
"""Characters of a line that are looked at for that."""
_C_ENTRY = r"\bint\s+{name}\s*\("
_PYTHON_ENTRY = r"(?m)^def\s+{name}\s*\("


def read_program(text: str, language: Language, entry_point: str = "run") -> Program:
    """The program in an answer, by the rule above."""
    found = blocks(after_thinking(text))
    complete = [block for block in found if block.complete]
    named = [block for block in complete if block.label in LABELS[language]]
    candidates = named or [block for block in complete if not block.label]
    programs = [block for block in candidates if _is_program(block.content, language, entry_point)]
    if not programs:
        return _failed(found, candidates, language, entry_point)
    source = programs[-1].content
    if len(source.encode(errors="replace")) > SOURCE_LIMIT_BYTES:
        return Program(Reading.TOO_LONG, problem=f"the program is longer than {SOURCE_LIMIT_BYTES} bytes")
    alike = {" ".join(block.content.split()) for block in programs}
    return Program(Reading.PROGRAM if len(alike) == 1 else Reading.SEVERAL, source)


def blocks(text: str) -> list[Block]:
    """Fenced blocks in order; the last one is incomplete when its fence is never closed."""
    found: list[Block] = []
    fence, label, inside = "", "", list[str]()
    for line in text.replace("\r\n", "\n").split("\n"):
        if not fence:
            if opening := _OPENING.fullmatch(line):
                fence, label, inside = opening["fence"], _word(opening["info"]), []
        elif _closes(line, fence):
            found.append(Block(label, _joined(inside), complete=True))
            fence = ""
        else:
            inside.append(line)
    if fence:
        found.append(Block(label, _joined(inside), complete=False))
    return found


def after_thinking(text: str) -> str:
    """The text without what a model thought aloud; thoughts without an end swallow the rest."""
    text = text[:ANSWER_LIMIT]
    kept: list[str] = []
    place, is_outside = 0, True
    for tag in _THINKING.finditer(text):
        if not tag["end"]:
            if is_outside:
                kept.append(text[place : tag.start()])
            is_outside = False
        elif is_outside:
            kept.clear()  # some servers cut the opening tag off with the template
        else:
            is_outside = True
        place = tag.end()
    return "".join(kept) + (text[place:] if is_outside else "")


def _failed(found: list[Block], candidates: list[Block], language: Language, entry_point: str) -> Program:
    """Why there is no program, by the block that came closest."""
    if not found:
        return Program(Reading.NO_BLOCK, problem="there is no code block")
    last = candidates[-1] if candidates else found[-1]
    if not last.complete:
        return Program(Reading.UNCLOSED, problem="the code block is not closed")
    if last.label in {"diff", "patch"} or _HUNK.search(last.content):
        return Program(Reading.PATCH, problem="that is a patch, not a program")
    if not candidates:
        return Program(Reading.OTHER_LANGUAGE, problem=f"the block is marked `{last.label[:20]}`")
    if _defines(last.content, language, entry_point):
        return Program(Reading.PLACEHOLDER, problem="parts of the program are left out")
    return Program(Reading.NO_ENTRY_POINT, problem=f"the block does not define `{entry_point}`")


def _is_program(source: str, language: Language, entry_point: str) -> bool:
    is_whole = not _HUNK.search(source) and not _leaves_out(source)
    return is_whole and _defines(source, language, entry_point)


def _leaves_out(source: str) -> bool:
    return any(_LEFT_OUT.match(line.strip()[:_LINE]) for line in source.splitlines())


def _defines(source: str, language: Language, entry_point: str) -> bool:
    form = _PYTHON_ENTRY if language in {Language.TRITON, Language.PYTORCH} else _C_ENTRY
    return bool(re.search(form.format(name=re.escape(entry_point)), source))


def _closes(line: str, fence: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(fence) and set(bare) == {fence[0]} and len(line) - len(line.lstrip(" ")) <= 3


def _word(info: str) -> str:
    """`{.cpp title="x"}` and `cpp:kernel.cpp` name cpp."""
    words = re.split(r"[\s:,{}]+", info.strip().lower().lstrip("{."))
    return words[0].lstrip(".")


def _joined(lines: list[str]) -> str:
    return "\n".join(lines) + "\n" if lines else ""
