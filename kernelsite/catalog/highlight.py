"""Source code as highlighted lines and as diffs; made on the server, cached by content."""

from __future__ import annotations

import difflib
import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.core.cache import cache
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from pygments import highlight as pygments_highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from kernelsite.catalog.plain import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Opcodes = Sequence[tuple[str, int, int, int, int]]

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
DIFF_CHARACTERS = 1_000_000
CONTEXT = 3


def lines(source: str, language: str) -> list[SafeString]:
    """Lines of escaped, coloured markup; the source is hostile text."""
    source = visible(source)
    if len(source) > HIGHLIGHT_LIMIT or language not in LEXERS:
        return [escape(line) for line in source.removesuffix("\n").split("\n")]
    digest = hashlib.sha256(f"{language}\n{source}".encode()).hexdigest()
    markup = cache.get_or_set(f"highlight:{digest}", lambda: _colour(source, language), 24 * 3600)
    # Pygments escapes every token; the spans around them are its own.
    return [mark_safe(line) for line in str(markup).split("\n")]


def _colour(source: str, language: str) -> str:
    lexer = get_lexer_by_name(LEXERS[language], stripnl=False)
    return str(pygments_highlight(source, lexer, HtmlFormatter(nowrap=True))).rstrip("\n")


def marked(line: SafeString, knobs: Mapping[str, str]) -> SafeString:
    """A line of `lines` with names of knobs marked; `knobs` are values as text by name.

    Knob names are capital letters, digits and underscores, so that neither tags nor entities hold one.
    """
    if not knobs:
        return line
    name = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, knobs))})(?!\w)")
    parts = _TAG.split(line)
    # Every second part is a tag of Pygments.
    parts[::2] = [name.sub(lambda found: _mark(found[0], knobs[found[0]]), text) for text in parts[::2]]
    return mark_safe("".join(parts))  # escaped text and our own marks


_TAG = re.compile(r"(<[^>]*>)")


def _mark(name: str, value: str) -> str:
    return f'<mark class="knob" title="{escape(f"knob, here {value}")}">{escape(name)}</mark>'


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


def diff(before: str, after: str, *, whole: bool = False) -> list[DiffLine] | None:
    """Changed lines with three lines of context, or all lines; None when a side is too long to compare."""
    if max(len(before), len(after)) > DIFF_CHARACTERS:
        return None
    old, new = _split(before), _split(after)
    if max(len(old), len(new)) > DIFF_LIMIT:
        return None
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    if whole:
        return list(_block(matcher.get_opcodes(), old, new))
    groups = matcher.get_grouped_opcodes(CONTEXT)
    return [line for group in groups for line in _hunk(group, old, new)]


def _split(text: str) -> list[str]:
    return visible(text).removesuffix("\n").split("\n") if text else []


def _hunk(group: Opcodes, old: list[str], new: list[str]) -> Iterator[DiffLine]:
    first, last = group[0], group[-1]
    yield DiffLine(
        "hunk", None, None, f"lines {first[1] + 1}\N{EN DASH}{last[2]} → {first[3] + 1}\N{EN DASH}{last[4]}"
    )
    yield from _block(group, old, new)


def _block(group: Opcodes, old: list[str], new: list[str]) -> Iterator[DiffLine]:
    for word, i, i_end, j, j_end in group:
        if word == "equal":
            yield from (DiffLine("same", i + k + 1, j + k + 1, old[i + k]) for k in range(i_end - i))
            continue
        yield from (DiffLine("del", k + 1, None, old[k]) for k in range(i, i_end))
        yield from (DiffLine("add", None, k + 1, new[k]) for k in range(j, j_end))


@dataclass(frozen=True)
class SplitRow:
    """One row of a diff with both sides beside each other; a side may be missing."""

    hunk: str
    old: DiffLine | None
    new: DiffLine | None


def split(rows: list[DiffLine]) -> list[SplitRow]:
    """A unified diff side by side: lines that went stand beside the lines that came for them."""
    found: list[SplitRow] = []
    gone: list[DiffLine] = []
    for row in rows:
        match row.kind:
            case "del":
                gone.append(row)
            case "add" if gone:
                found.append(SplitRow("", gone.pop(0), row))
            case "add":
                found.append(SplitRow("", None, row))
            case _:
                found += [SplitRow("", old, None) for old in gone]
                gone = []
                found.append(SplitRow(row.text, None, None) if row.kind == "hunk" else SplitRow("", row, row))
    return found + [SplitRow("", old, None) for old in gone]
