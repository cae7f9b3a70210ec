"""Checks of a site that others reach (`manage.py check --deploy`)."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import Error, Tags, register

LOOPBACK = {"localhost", "127.0.0.1", "::1"}


@register(Tags.security, deploy=True)
def broker_is_closed(**_: Any) -> list[Error]:
    """Who reaches the broker can forge messages, so it has a password or is a socket of this machine (F161)."""
    parts = urlsplit(settings.REDIS_URL)
    if parts.scheme == "unix" or parts.password or parts.hostname in LOOPBACK:
        return []
    hint = "Write REDIS_URL=rediss://user:password@host, and give each kind of process its own ACL user."
    return [
        Error("The broker is reached over a network without a password.", hint=hint, id="kernelsite.E001")
    ]


@register(Tags.security, deploy=True)
def links_lead_here(**_: Any) -> list[Error]:
    """Mails must not send people to the laptop that they read them on (F159)."""
    if not settings.HTTPS or urlsplit(settings.SITE_URL).scheme == "https":
        return []
    hint = "Write KERNELSITE_SITE_URL=https://the.address.people.type"
    return [
        Error("Links in mails do not begin with the site's https address.", hint=hint, id="kernelsite.E002")
    ]
