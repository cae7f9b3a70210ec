"""What a new installation needs before its first page: tables, catalogue, a team with one person in it."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connections, transaction

from kernelsite.accounts.models import Membership, Role, Team
from kernelsite.catalog.models import sync_shipped

if TYPE_CHECKING:
    from pathlib import Path

NAME = "admin"


@dataclass(frozen=True)
class FirstLogin:
    """How the first person logs in; the password is None once it was changed or when people came another way."""

    username: str
    password: str | None
    is_new: bool = False

    @property
    def text(self) -> str:
        """One line for people."""
        return (
            f"{self.username} / {self.password}" if self.password else f"{self.username}, your own password"
        )


def prepare() -> FirstLogin:
    """Migrate, bring in what ships, make the first user if there is none. Harmless when repeated."""
    call_command("migrate", interactive=False, verbosity=0)
    sync_shipped()
    login = first_login(settings.VAR / "first_login")
    # Whoever forks children next must not hold a connection.
    connections.close_all()
    return login


def first_login(file: Path) -> FirstLogin:
    """The first person's log-in, made if nobody is there yet.

    Args:
        file: Keeps the generated password, readable by its owner only, so that it can be shown again.
    """
    people = get_user_model().objects
    if not people.exists():
        return _create(file)
    user = people.filter(is_active=True).order_by("pk").first()
    if user is None:
        return FirstLogin("nobody is active", None)
    kept = file.read_text().strip() if file.exists() else ""
    is_kept = bool(kept) and user.check_password(kept)
    return FirstLogin(user.get_username(), kept if is_kept else None)


def _create(file: Path) -> FirstLogin:
    password = secrets.token_urlsafe(12)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as stream:
        stream.write(password + "\n")
    with transaction.atomic():
        user = get_user_model().objects.create_user(NAME, password=password)
        team, _ = Team.objects.get_or_create(slug="kernels", defaults={"name": "Kernels"})
        Membership.objects.create(team=team, user=user, role=Role.ADMIN)
    return FirstLogin(NAME, password, is_new=True)
