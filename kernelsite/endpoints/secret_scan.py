"""Looks for secrets in what a search would send to a provider: people paste keys into workloads."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from search.agents.llm.texts import without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator

PATTERNS = {
    "a private key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    "an AWS key": re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    "a signed token": re.compile(r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\."),
    "a password in an address": re.compile(r"://[^\s/:@]{1,100}:[^\s/@]{3,100}@"),
    "a password": re.compile(
        r"(?i)\b\w{0,30}(?:password|passwd|secret|token|api_?key)\w{0,30}\s{0,3}[=:]\s{0,3}['\"][^'\"\s]{8,200}['\"]"
    ),
}
FINDINGS = 20
"""Most that are told."""


@dataclass(frozen=True)
class Finding:
    """Where something looks like a secret; never the secret itself."""

    where: str
    """Path in the document, e.g. `reference`."""
    line: int
    kind: str

    @property
    def text(self) -> str:
        """For people."""
        return f"{self.where}, line {self.line}: {self.kind}"


def scan(document: dict[str, Any]) -> list[Finding]:
    """What looks like a secret in a JSON document."""
    found = [finding for where, text in _texts(document, "") for finding in _scan_text(where, text)]
    return found[:FINDINGS]


def _texts(value: Any, where: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _texts(inner, f"{where}.{name}".lstrip("."))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _texts(inner, f"{where}[{place}]")


def _scan_text(where: str, text: str) -> Iterator[Finding]:
    for number, line in enumerate(text.splitlines(), start=1):
        kinds = [kind for kind, pattern in PATTERNS.items() if pattern.search(line)]
        if not kinds and without_secrets(line) != line:
            kinds = ["a provider's key"]
        for kind in kinds[:1]:
            yield Finding(where, number, kind)
