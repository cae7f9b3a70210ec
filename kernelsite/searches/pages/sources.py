"""A candidate's sources as a page shows them: coloured, knobs marked, of limited length, nothing hidden."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelsite.catalog.highlight import lines, marked
from kernelsite.catalog.plain import hidden_count
from kernelsite.catalog.templatetags.show import as_json

if TYPE_CHECKING:
    from django.utils.safestring import SafeString

    from kernelsite.searches.models import Candidate

SHOWN_CHARACTERS = 300_000
SHOWN_LINES = 5_000


@dataclass(frozen=True)
class ShownSource:
    """One file."""

    path: str
    anchor: str
    """What stands before a line's number in its anchor: `L` in the first file, `F2-L` in the second."""
    lines: list[SafeString]
    size: int
    """Characters of the whole file."""
    hidden: int
    """Characters that are written out as `⟨U+202E⟩`."""

    @property
    def is_cut(self) -> bool:
        """Only its beginning is shown."""
        return self.size > SHOWN_CHARACTERS or len(self.lines) >= SHOWN_LINES


def shown_sources(candidate: Candidate) -> list[ShownSource]:
    """All files, the one with the entry point first; reads the source's row."""
    knobs = {name: as_json(value) for name, value in candidate.knobs.items()}
    files = enumerate(candidate.source.files, start=1)
    return [
        _shown(number, file["path"], file["content"], candidate.language, knobs) for number, file in files
    ]


def _shown(number: int, path: str, content: str, language: str, knobs: dict[str, str]) -> ShownSource:
    beginning = content[:SHOWN_CHARACTERS]
    coloured = lines(beginning, language)[:SHOWN_LINES]
    return ShownSource(
        path=path,
        anchor="L" if number == 1 else f"F{number}-L",
        lines=[marked(line, knobs) for line in coloured],
        size=len(content),
        hidden=hidden_count(beginning),
    )
