"""The session engine: Django's database sessions, which also know whose they are and from where they were opened."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.utils import timezone

from kernelsite.accounts.addresses import client_address
from kernelsite.accounts.models import Session

if TYPE_CHECKING:
    from django.http import HttpRequest

PLACE = "place"
"""Key under which a session keeps its number, address, browser, start and last sight."""
SEEN_EVERY = timedelta(minutes=10)


class SessionStore(DatabaseStore):
    """Copies what the session holds of its person into columns."""

    @classmethod
    def get_model_class(cls) -> type[Session]:
        """The table."""
        return Session

    def create_model_instance(self, data: dict[str, Any]) -> Session:
        """The row to save."""
        row: Session = super().create_model_instance(data)  # type: ignore[assignment]  # stubs name its base
        user, place = data.get("_auth_user_id"), data.get(PLACE)
        row.user_id = int(user) if user else None
        if place:
            row.number, row.address, row.agent = UUID(place["number"]), place["address"], place["agent"]
            row.opened_at, row.seen_at = _moment(place["opened"]), _moment(place["seen"])
        return row


def note_place(request: HttpRequest) -> None:
    """Write into a session that was opened just now from where."""
    now = timezone.now().timestamp()
    agent = "".join(sign for sign in request.headers.get("User-Agent", "") if sign.isprintable())
    request.session[PLACE] = {
        "number": str(uuid4()),
        "address": client_address(request),
        "agent": agent[:200],
        "opened": now,
        "seen": now,
    }


def note_sight(request: HttpRequest) -> None:
    """Keep the last sight of a session right to a few minutes, without a write at every request."""
    place = request.session.get(PLACE)
    now = timezone.now().timestamp()
    if place and now - place["seen"] > SEEN_EVERY.total_seconds():
        request.session[PLACE] = {**place, "seen": now}


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
