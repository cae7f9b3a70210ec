"""Ending sessions: rows go, and sockets that were opened with them are told."""

from __future__ import annotations

from kernelsite.accounts import bell
from kernelsite.accounts.models import Session


def end(user_id: int, *, number: str = "", keep: str = "") -> int:
    """End sessions of a person.

    Args:
        user_id: Whose.
        number: Only the one of this number; empty: all.
        keep: Key of one that stays.

    Returns:
        How many ended.
    """
    rows = Session.objects.of(user_id)
    if number:
        rows = rows.filter(number=number)
    if keep:
        rows = rows.exclude(session_key=keep)
    count, _ = rows.delete()
    bell.ring_later(user_id)
    return count
