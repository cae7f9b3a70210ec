"""`notify`: tell a team that something happened. It only writes rows; call it in the transaction of the change."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from django.contrib.auth import get_user_model
from django.db import transaction
from django.utils import timezone

from kernelsite.accounts.models import Membership, Profile, Role
from kernelsite.notices.models import Channel, Delivery, Notice, Receipt, Webhook, Wishes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.contrib.auth.models import User

    from kernelsite.accounts.models import Team
    from kernelsite.notices.models import Event


def notify(  # noqa: PLR0913 - one argument per fact of a notice
    team: Team,
    event: Event,
    title: str,
    *,
    text: str = "",
    link: str = "",
    key: str = "",
    to: Role | Iterable[int] = Role.VIEWER,
    actor: int | None = None,
) -> Notice | None:
    """Write a notice, its copies for people who want it, and what is to leave the site by e-mail and webhook.

    Args:
        team: Whose people and webhooks hear of it.
        event: What kind of thing happened.
        title: One line; may hold words of strangers, like `text`.
        text: One more line, for the list and the mail.
        link: Path within the site.
        key: Tells it from everything else that happened in the team; empty: it is never the same as anything.
        to: The least role that hears of it, or user ids; who is not in the team hears nothing.
        actor: Id of the person who did it, who is not told.

    Returns:
        The notice; None when this key was told before.
    """
    named = {"event": event, "title": plain(title)[:200], "text": plain(text)[:500], "link": link[:300]}
    with transaction.atomic():
        notice, is_new = Notice.objects.get_or_create(team=team, key=key or uuid4().hex, defaults=named)
        if not is_new:
            return None
        _hand_out(notice, event, _people(team, to, actor))
        hooks = Webhook.objects.hearing(team, event)
        Delivery.objects.bulk_create(Delivery(notice=notice, webhook=hook) for hook in hooks)
    return notice


def plain(text: str) -> str:
    """One printable line."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def _people(team: Team, to: Role | Iterable[int], actor: int | None) -> list[User]:
    places = Membership.objects.filter(team=team, user__is_active=True).exclude(user=actor)
    if isinstance(to, Role):
        places = places.filter(role__in=[role for role in Role if role.includes(to)])
    else:
        places = places.filter(user__in=set(to))
    people = get_user_model().objects.filter(pk__in=places.values("user"))
    return list(people.select_related("wishes", "profile").order_by("pk"))


def _hand_out(notice: Notice, event: Event, people: list[User]) -> None:
    now = timezone.now()
    receipts, mails = [], []
    for user in people:
        wishes = getattr(user, "wishes", None) or Wishes(user=user)
        if wishes.wants(event, Channel.SITE):
            receipts.append(Receipt(notice=notice, user=user))
        if user.email and wishes.wants(event, Channel.MAIL):
            due = wishes.mail_due(now, Profile.objects.of(user).zone)
            mails.append(Delivery(notice=notice, user=user, due_at=due))
    Receipt.objects.bulk_create(receipts)
    Delivery.objects.bulk_create(mails)
