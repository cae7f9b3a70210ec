"""Keeps secrets out of the log: passwords in addresses, keys and tokens, share links and invitations."""

from __future__ import annotations

import logging
import re

SECRETS = re.compile(
    r"""(?P<address>://[^\s:/@]*:)[^\s/@]+(?=@)
    |(?P<path>/(?:p|invitations)/)[\w-]{8,}
    |(?P<word>\bBearer\s+|\bsk-|\b(?:password|token|secret|api_key|csrfmiddlewaretoken)['"]?\s*[=:]\s*['"]?)
    [^\s'"@&,;]+""",
    re.IGNORECASE | re.VERBOSE,
)


def without_secrets(text: str) -> str:
    """The text with everything that looks like a secret replaced by stars."""
    return SECRETS.sub(lambda match: (match["address"] or match["path"] or match["word"]) + "***", text)


class SecretsFilter(logging.Filter):
    """Lets every record pass, without its secrets."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Fold the arguments in, since they may hold the secret, and the traceback likewise."""
        record.msg, record.args = without_secrets(record.getMessage()), None
        if record.exc_info and not record.exc_text:
            record.exc_text = without_secrets(logging.Formatter().formatException(record.exc_info))
        return True
