"""Short ids of candidates, e.g. `142.17.031c`, read back into their parts."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kernelsite.searches.models.work import PURPOSE_SUFFIX

KEY = re.compile(r"(\d{1,9})\.(\d{1,6})\.(\d{1,6})([a-z]?)")
PURPOSE_OF = {suffix: purpose for purpose, suffix in PURPOSE_SUFFIX.items()}


@dataclass(frozen=True)
class CandidateKey:
    """Where a candidate stands, and for which purpose it was measured."""

    search: int
    structure: int
    number: int
    purpose: str


def read_key(text: str) -> CandidateKey | None:
    """The parts of a short id; None when it is none."""
    match = KEY.fullmatch(text)
    if match is None or match[4] not in PURPOSE_OF:
        return None
    return CandidateKey(int(match[1]), int(match[2]), int(match[3]), PURPOSE_OF[match[4]])
