"""Keeps secrets out of the log, and each record on one line: passwords in addresses, keys, tokens, links that let one in."""

from __future__ import annotations

import logging
import re

SECRETS = re.compile(
    r"""(?P<address>://[^\s:/@]*:)[^\s/@]+(?=@)
    |(?P<path>/(?:p|invitations|reset|address)/)[\w:./-]{8,}
    |(?P<word>\bBearer\s+|\bsk-|\bks_|\bwhsec_|\b(?:password|token|secret|api_key|csrfmiddlewaretoken)['"]?\s*[=:]\s*['"]?)
    [^\s'"@&,;]+""",
    re.IGNORECASE | re.VERBOSE,
)


BREAKS = {
    sign: repr(chr(sign))[1:-1] for sign in (*range(32), 127, *range(128, 160), 0x2028, 0x2029) if sign != 9
}
"""Signs by which a name could begin a record of its own or steer a terminal, and how they are written instead."""


def on_one_line(text: str) -> str:
    """The text with line breaks and control characters written out."""
    return text.translate(BREAKS)


def without_secrets(text: str) -> str:
    """The text with everything that looks like a secret replaced by stars."""
    return SECRETS.sub(lambda match: (match["address"] or match["path"] or match["word"]) + "***", text)


class SecretsFilter(logging.Filter):
    """Lets every record pass, without its secrets and on one line; a traceback keeps its lines."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Fold the arguments in, since they may hold the secret, and the traceback likewise."""
        record.msg, record.args = on_one_line(without_secrets(record.getMessage())), None
        if record.exc_info and not record.exc_text:
            record.exc_text = without_secrets(logging.Formatter().formatException(record.exc_info))
        return True
