"""Text of strangers in a prompt: stripped of what hides, capped, masked, and in a fence that it cannot close.

A fence is `<data kind="…" id="…">` and `</data …>` with an id drawn from the text itself, so that no text can hold
its own end. That does not stop a model from believing what it reads; it only keeps apart what we say from what
others say. Verdicts never depend on either.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

DEFAULT_CAP = 6000
"""Characters of one fenced text."""
LONGEST_LINE = 1000
_KEPT = {"\n", "\t"}
_HIDING = {"Cc", "Cf", "Cs", "Co", "Cn"}
"""Unicode categories of characters that are not seen: controls, bidi and zero-width marks, surrogates, unassigned."""
_BREAKS = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_TAG = re.compile(r"<(?=\s*/\s*data\b|\s*data\s+(?:kind|id)\b)", re.IGNORECASE)
_SECRETS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\b(?:sk|pk|rk)-[A-Za-z0-9_\-]{16,}|\b(?:ghp|gho|ghs|github_pat|glpat|hf|xox[abp])[_-][A-Za-z0-9_\-]{16,}"
    r"|\bAKIA[0-9A-Z]{16}\b|(?<=[Bb]earer )[A-Za-z0-9._~+/\-]{16,}",
    re.DOTALL,
)
"""Shapes of keys: a log or a pasted file may hold one, and a prompt goes to a third party."""


def fence(text: str, kind: str, cap: int = DEFAULT_CAP) -> str:
    """The text as data: cleaned, at most `cap` characters of it, between two lines that name it.

    Args:
        text: of a workload, a source, a compiler, a kernel or a model.
        kind: what it is, in our words.
        cap: characters kept; the middle is left out, because logs say what matters first or last.
    """
    shown = shortened(text, cap)
    mark = _mark(shown)
    return f'<data kind="{kind}" id="{mark}">\n{shown}\n</data {mark}>'


def clean(text: str) -> str:
    """The text with plain line breaks, without hidden characters, without anything that looks like a fence or a key."""
    plain = _BREAKS.sub("\n", text)
    if not plain.replace("\n", " ").replace("\t", " ").isprintable():
        plain = "".join(sign for sign in plain if sign in _KEPT or unicodedata.category(sign) not in _HIDING)
    masked = _SECRETS.sub("[masked]", plain)
    return _TAG.sub(r"<\\", masked).strip("\n")


def shortened(text: str, cap: int) -> str:
    """The text cleaned, at most `cap` characters of it, first and last ones, with a word on what is missing."""
    # Cleaning takes time, so what is far too long is cut before: what is left can only get shorter.
    surely = 4 * cap
    head, tail = (text[:surely], text[-surely:]) if len(text) > 2 * surely else (text, "")
    first = _lines(clean(head))
    if not tail and len(first) <= cap:
        return first
    last = _lines(clean(tail)) if tail else first
    kept = cap * 2 // 3
    return f"{first[:kept]}\n[… the middle of {len(text)} characters is left out …]\n{last[-(cap - kept) :]}"


def one_line(text: str, cap: int = 200) -> str:
    """A cleaned text on one line, for a table inside a fence."""
    words = " ".join(clean(text[: 8 * cap]).split())
    return words if len(words) <= cap else words[: cap - 1] + "…"


def _lines(text: str) -> str:
    return "\n".join(_line(line) for line in text.split("\n"))


def _line(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else line[:LONGEST_LINE] + "…"


def _mark(text: str) -> str:
    """Eight hex digits that the text does not hold."""
    number = 0
    while True:
        mark = hashlib.sha256(f"{number} {text}".encode()).hexdigest()[:8]
        if mark not in text:
            return mark
        number += 1
