"""Source code as highlighted lines and as diffs; made on the server, cached by content."""

from __future__ import annotations

import difflib
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.core.cache import cache
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from pygments import highlight as pygments_highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

if TYPE_CHECKING:
    from collections.abc import Iterator

LEXERS = {
    "cpp": "cpp",
    "cuda": "cuda",
    "triton": "python",
    "pytorch": "python",
    "python": "python",
    "yaml": "yaml",
    "json": "json",
}
HIGHLIGHT_LIMIT = 100_000
"""Longer sources, in characters, are shown without colours: 1,000 lines take 0.4 s."""
DIFF_LIMIT = 4_000
"""Lines of either side; difflib is quadratic on hostile texts."""
CONTEXT = 3


def lines(source: str, language: str) -> list[SafeString]:
    """Lines of escaped, coloured markup; the source is hostile text."""
    if len(source) > HIGHLIGHT_LIMIT or language not in LEXERS:
        return [escape(line) for line in source.splitlines()]
    digest = hashlib.sha256(f"{language}\n{source}".encode()).hexdigest()
    markup = cache.get_or_set(f"highlight:{digest}", lambda: _colour(source, language), 24 * 3600)
    # Pygments escapes every token; the spans around them are its own.
    return [mark_safe(line) for line in str(markup).split("\n")]


def _colour(source: str, language: str) -> str:
    lexer = get_lexer_by_name(LEXERS[language], stripnl=False)
    return str(pygments_highlight(source, lexer, HtmlFormatter(nowrap=True))).rstrip("\n")


@dataclass(frozen=True)
class DiffLine:
    """One line of a unified diff; `kind` is `hunk`, `add`, `del` or `same`."""

    kind: str
    old: int | None
    new: int | None
    text: str

    @property
    def sign(self) -> str:
        """The mark in front of the line."""
        return {"add": "+", "del": "\N{MINUS SIGN}"}.get(self.kind, "")


def diff(before: str, after: str) -> list[DiffLine] | None:
    """Changed lines with three lines of context; None when a side is too long to compare."""
    old, new = before.splitlines(), after.splitlines()
    if max(len(old), len(new)) > DIFF_LIMIT:
        return None
    groups = difflib.SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(CONTEXT)
    return [line for group in groups for line in _hunk(group, old, new)]


def _hunk(group: list[tuple[str, int, int, int, int]], old: list[str], new: list[str]) -> Iterator[DiffLine]:
    first, last = group[0], group[-1]
    yield DiffLine(
        "hunk", None, None, f"lines {first[1] + 1}\N{EN DASH}{last[2]} → {first[3] + 1}\N{EN DASH}{last[4]}"
    )
    for word, i, i_end, j, j_end in group:
        if word == "equal":
            yield from (DiffLine("same", i + k + 1, j + k + 1, old[i + k]) for k in range(i_end - i))
            continue
        yield from (DiffLine("del", k + 1, None, old[k]) for k in range(i, i_end))
        yield from (DiffLine("add", None, k + 1, new[k]) for k in range(j, j_end))
