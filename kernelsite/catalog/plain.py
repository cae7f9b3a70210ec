"""Text of strangers made fit to be read: nothing hidden, nothing that moves the cursor, nothing without end."""

from __future__ import annotations

import re

LOG_LIMIT = 20_000
"""Longest log shown, in characters; a longer one loses its middle."""

_HIDDEN = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and newline
    "\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"  # invisible, or turning the direction
    "\ud800-\udfff"  # halves of characters, which cannot be sent
    "]"
)
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
"""Terminal colours, cursor moves and window titles."""


def visible(text: str) -> str:
    """The text with invisible and direction-turning characters written out, e.g. `⟨U+202E⟩`."""
    text = text.replace("\r\n", "\n")
    return _HIDDEN.sub(
        lambda found: (
            f"\N{MATHEMATICAL LEFT ANGLE BRACKET}U+{ord(found[0]):04X}\N{MATHEMATICAL RIGHT ANGLE BRACKET}"
        ),
        text,
    )


def hidden_count(text: str) -> int:
    """How many characters `visible` writes out."""
    return len(_HIDDEN.findall(text.replace("\r\n", "\n")))


def tidy_log(text: str) -> str:
    """A log as a terminal would leave it: without colours, progress bars at their last state, of limited length."""
    text = _ESCAPES.sub("", _cut(text, 2 * LOG_LIMIT))
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return _cut(visible("\n".join(lines)), LOG_LIMIT)


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    half = limit // 2
    left_out = len(text) - 2 * half
    return f"{text[:half]}\n\N{HORIZONTAL ELLIPSIS} {left_out:,} characters left out \N{HORIZONTAL ELLIPSIS}\n{text[-half:]}"
