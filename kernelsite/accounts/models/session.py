"""`Session`: a browser that is logged in, with whose it is, so that a person can see and end their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.utils import timezone

if TYPE_CHECKING:
    from kernelsite.accounts.session_store import SessionStore

BROWSERS = {"Edg/": "Edge", "OPR/": "Opera", "Firefox/": "Firefox", "Chrome/": "Chrome", "Safari/": "Safari"}
SYSTEMS = {
    "Windows": "Windows",
    "Android": "Android",
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Mac OS": "macOS",
    "Linux": "Linux",
}
"""Signs in a browser's name of itself; the first one that is there counts, since each holds the later ones too."""


class SessionQuerySet(models.QuerySet["Session"]):
    """Many-row logic of sessions."""

    def live(self) -> Self:
        """Those not expired."""
        return self.filter(expire_date__gt=timezone.now())

    def of(self, user_id: int) -> Self:
        """A person's."""
        return self.filter(user_id=user_id)


class Session(AbstractBaseSession):
    """Django's row, with columns for what people ask of it. The number names it to people: the key is a secret."""

    user_id = models.BigIntegerField(null=True, db_index=True)
    number = models.UUIDField(null=True, db_index=True)
    """Not unique: while Django gives a session another key, two rows have it, and it tries for ever if they may not."""
    address = models.CharField(max_length=64, blank=True, default="")
    agent = models.CharField(max_length=200, blank=True, default="")
    opened_at = models.DateTimeField(null=True)
    seen_at = models.DateTimeField(null=True)

    objects = SessionQuerySet.as_manager()  # type: ignore[assignment,misc]  # the base class has a manager of its own

    class Meta:
        verbose_name = "session"

    @property
    def browser(self) -> str:
        """Browser and system in words, as far as the browser told the truth."""
        name = next((word for sign, word in BROWSERS.items() if sign in self.agent), "")
        system = next((word for sign, word in SYSTEMS.items() if sign in self.agent), "")
        return " on ".join(filter(None, (name, system))) or self.agent[:40] or "unknown"

    @classmethod
    def get_session_store_class(cls) -> type[SessionStore]:
        """What encodes and decodes it."""
        from kernelsite.accounts.session_store import SessionStore

        return SessionStore
