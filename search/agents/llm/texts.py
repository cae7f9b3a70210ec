"""Texts of servers made fit to keep: secrets masked, control characters removed, length capped."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import SecretStr

DETAIL_LIMIT = 500
"""Characters kept of a reason."""
MASK = "[key]"
SHORTEST_SECRET = 6
"""A shorter key is a placeholder such as `none`, which ordinary text may hold."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SECRETS = re.compile(
    r"\b(?:sk-|pk-|gsk_|xai-|hf_|nvapi-|ghp_|github_pat_|AIza)(?=[A-Za-z_*\-]{0,80}+\d)[A-Za-z0-9_*\-]{12,}"
    r"|\b(?i:bearer|api[-_ ]?key[:=]?)\s+(?=[^\s\d]{0,80}+\d)\S{8,}"
)
"""With a digit, so that names in sources (`hf_attention_forward`) stay; looked for within bounds, because text
that repeats a prefix would take quadratic time."""


def plain(text: str) -> str:
    """Without control characters other than tab and newline, and with lone surrogates replaced.

    JSON may hold half of a surrogate pair, which Python keeps and no file or database accepts.
    """
    text = text.replace("\r\n", "\n").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _CONTROL.sub("", text)


def masked(text: str, key: SecretStr) -> str:
    """Without the key itself."""
    secret = key.get_secret_value()
    return text.replace(secret, MASK) if len(secret) >= SHORTEST_SECRET else text


def without_secrets(text: str) -> str:
    """Without what looks like a key of anyone."""
    return _SECRETS.sub(MASK, text)


def reason(text: str, key: SecretStr) -> str:
    """One line for people out of a server's message: without keys of any kind, at most `DETAIL_LIMIT` long."""
    line = " ".join(plain(masked(text, key)[: 8 * DETAIL_LIMIT]).split())
    line = without_secrets(line)
    return line if len(line) <= DETAIL_LIMIT else line[: DETAIL_LIMIT - 1] + "…"
