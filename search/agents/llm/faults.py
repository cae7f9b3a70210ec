"""Which outcome an error answer of a server is: status, error code and words, and its wish when to come back."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from search.agents.llm.outcomes import CallOutcome, Charge

if TYPE_CHECKING:
    from collections.abc import Mapping

_BY_STATUS = {
    401: CallOutcome.UNAUTHORIZED,
    402: CallOutcome.QUOTA,
    403: CallOutcome.UNAUTHORIZED,
    404: CallOutcome.NOT_FOUND,
    408: CallOutcome.UNAVAILABLE,
    409: CallOutcome.UNAVAILABLE,
    410: CallOutcome.NOT_FOUND,
    425: CallOutcome.UNAVAILABLE,
    429: CallOutcome.RATE_LIMITED,
}
_QUOTA = re.compile(
    r"insufficient_quota|billing|credit balance|exceeded your current quota|out of credits", re.I
)
_CONTEXT = re.compile(
    r"context_length_exceeded|context (length|window|size)|maximum (context|prompt|input)|prompt is too long"
    r"|exceeds? the (available|model'?s) context|too many (input )?tokens",
    re.I,
)
_FILTER = re.compile(r"content_filter|content management policy|content_policy_violation", re.I)
_MODEL = re.compile(
    r"model_not_found|model .{0,80}(does not exist|not found|not supported)|no such model", re.I
)


def outcome_of_status(status: int, words: str) -> CallOutcome:
    """Outcome of an answer that is an error.

    Args:
        status: HTTP status, or the one that an error inside of a 200 names; 0 when it names none.
        words: Code, type and message of the error, in one text.
    """
    if 300 <= status < 400:
        return CallOutcome.NOT_FOUND
    if status in {402, 403, 429} and _QUOTA.search(words):
        return CallOutcome.QUOTA
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if 400 <= status < 500:
        return _of_bad_request(status, words)
    return CallOutcome.UNAVAILABLE


def _of_bad_request(status: int, words: str) -> CallOutcome:
    if status == 413 or _CONTEXT.search(words):
        return CallOutcome.CONTEXT_TOO_LONG
    if _FILTER.search(words):
        return CallOutcome.REFUSED
    if _MODEL.search(words):
        return CallOutcome.NOT_FOUND
    return CallOutcome.BAD_REQUEST


def charge_of_status(status: int) -> Charge:
    """An error is not billed; but a gateway that stopped waiting does not know what the model did behind it."""
    return Charge.CEILING if status in {408, 504, 524} else Charge.NOTHING


def retry_after_s(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds that a server asks to wait: `Retry-After` as number or date, or its form in milliseconds.

    Returns:
        None where it asks for nothing or nonsense; 0 for a date that has passed.
    """
    if (milliseconds := _number(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "")
    if (seconds := _number(value)) is not None:
        return seconds
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, IndexError, TypeError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None
