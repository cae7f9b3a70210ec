"""The e-mail that a notice becomes: plain text, one link, and how to get fewer of them."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMessage
from django.urls import reverse

from kernelsite.notices.hooks import absolute

if TYPE_CHECKING:
    from kernelsite.notices.models import Delivery


def message_of(delivery: Delivery) -> EmailMessage:
    """Built when it is sent; the id in its header is the same at each try."""
    notice, user = delivery.notice, delivery.user
    assert user is not None  # a delivery to a webhook is no mail
    fewer = absolute(reverse("notices:settings"))
    parts = (
        notice.title,
        notice.text,
        absolute(notice.link),
        f"--\nTeam {notice.team.name}. What is mailed to you: {fewer}",
    )
    return EmailMessage(
        subject=f"[{notice.team.name}] {notice.title}"[:180],
        body="\n\n".join(part for part in parts if part) + "\n",
        to=[user.email],
        headers={
            "Message-ID": f"<{delivery.uid}@{urlsplit(settings.SITE_URL).hostname}>",
            "Auto-Submitted": "auto-generated",
            "List-Unsubscribe": f"<{fewer}>",
        },
    )
