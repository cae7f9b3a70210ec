"""Letters with a link: for a new password and for another e-mail address.

A wish is a row, written whether or not somebody has the address, so that neither text nor time of the answer tells.
The courier makes the link when it sends the letter; links are signed, work once, and start with `settings.SITE_URL`.
"""

from __future__ import annotations

import logging
import smtplib
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.forms import PasswordResetForm
from django.contrib.auth.tokens import default_token_generator
from django.core import signing
from django.core.mail import EmailMessage
from django.urls import reverse
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from kernelsite.accounts.models import Letter, LetterKind

if TYPE_CHECKING:
    from django.contrib.auth.models import User

log = logging.getLogger(__name__)

SALT = "kernelsite.accounts.address"
ADDRESS_LIFETIME = timedelta(days=1)

RESET = """\
Somebody, you most likely, asked for a new password of {name} at {site}.

{link}

The link works once, for {minutes} minutes. If it was not you, do nothing: your password stays.
"""
ADDRESS = """\
{name} at {site} wants to be reached at this address. Confirm it while you are logged in:

{link}

The link works once, for a day. If it was not you, do nothing.
"""


def wish_reset(email: str, address: str) -> None:
    """Note that somebody at a network address wants a new password for whoever has the e-mail address."""
    if Letter.objects.too_many(email, address):
        return
    people: list[Any] = list(PasswordResetForm().get_users(email)) or [None]
    Letter.objects.bulk_create(
        Letter(kind=LetterKind.RESET, email=person.email if person else email, user=person, address=address)
        for person in people
    )


def wish_address(user: User, email: str, address: str) -> None:
    """Note that a person wants to be reached at another e-mail address."""
    if not Letter.objects.too_many(email, address):
        Letter.objects.create(kind=LetterKind.ADDRESS, email=email, user=user, address=address)


def send_due() -> int:
    """Send what is due; how many tries there were."""
    now, tries = timezone.now(), 0
    for pk in list(Letter.objects.due(now).values_list("pk", flat=True)[:20]):
        if Letter.objects.claim(pk, now):
            tries += 1
            _send(Letter.objects.select_related("user").get(pk=pk))
    return tries


def forget() -> None:
    """Drop letters that are too old to count."""
    Letter.objects.forget(timezone.now())


def _send(letter: Letter) -> None:
    user = letter.user
    assert user is not None  # only letters to somebody are due
    try:
        _message(letter, user).send()
    except (OSError, smtplib.SMTPException, ValueError) as error:
        log.warning("letter %s was not sent: %s", letter.pk, type(error).__name__)
        return
    Letter.objects.filter(pk=letter.pk).update(sent_at=timezone.now())


def _message(letter: Letter, user: User) -> EmailMessage:
    is_reset = letter.kind == LetterKind.RESET
    path = reset_path(user) if is_reset else address_path(user, letter.email)
    body = (RESET if is_reset else ADDRESS).format(
        name=user.get_username(),
        site=settings.SITE_URL,
        link=f"{settings.SITE_URL}{path}",
        minutes=settings.PASSWORD_RESET_TIMEOUT // 60,
    )
    subject = "A new password" if is_reset else "Confirm your e-mail address"
    headers = {"Auto-Submitted": "auto-generated"}
    return EmailMessage(f"[Kernelsite] {subject}", body, to=[letter.email], headers=headers)


def reset_path(user: User) -> str:
    """Path of a page that sets a new password; it ends with the next log-in or change of the password."""
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    return reverse("accounts:reset_confirm", args=[uid, default_token_generator.make_token(user)])


def address_path(user: User, email: str) -> str:
    """Path of a page that confirms an e-mail address; it ends when the person's address changes."""
    token = signing.dumps({"user": user.pk, "email": email, "was": user.email}, salt=SALT, compress=True)
    return reverse("accounts:address", args=[token])


def confirmed_address(user: User, token: str) -> str | None:
    """The address that a link confirms for this person; None when it is not theirs, used, too old or forged."""
    try:
        told = signing.loads(token, salt=SALT, max_age=ADDRESS_LIFETIME)
    except signing.BadSignature:
        return None
    if (told["user"], told["was"]) != (user.pk, user.email):
        return None
    taken = get_user_model().objects.filter(email__iexact=told["email"]).exclude(pk=user.pk)
    return None if taken.exists() else str(told["email"])
