"""Filling source templates: the only string handling the playbook needs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLACE = re.compile(r"@(\w+)@")
_ALONE = re.compile(r"([ \t]*)@(\w+)@\s*")


def fill(template: str, **pieces: str) -> str:
    """Put each piece in its place `@name@`.

    A place alone on its line takes a whole block: every line of it gets the place's indentation, and an
    empty piece removes the line. A place inside a line takes the piece as it is.

    Raises:
        KeyError: the template has a place for which no piece was given.
    """
    lines: list[str] = []
    for line in template.splitlines():
        alone = _ALONE.fullmatch(line)
        if alone:
            lines += _indented(pieces[alone[2]], alone[1])
        else:
            lines.append(_PLACE.sub(lambda place: pieces[place[1]], line))
    return "\n".join(lines) + "\n"


def rename(code: str, names: Mapping[str, str]) -> str:
    """The code with whole identifiers replaced, e.g. `sum` by `sum[r]` where a program owns several rows."""
    if not names:
        return code
    pattern = re.compile(r"\b(" + "|".join(map(re.escape, names)) + r")\b")
    return pattern.sub(lambda found: names[found[1]], code)


def _indented(block: str, indent: str) -> list[str]:
    return [indent + line if line.strip() else "" for line in block.strip("\n").splitlines()]
