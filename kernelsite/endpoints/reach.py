"""Which hosts model endpoints may name: `settings.MODEL_HOSTS`, checked in forms and again at every connection."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from django.conf import settings

from search.agents.llm.addresses import POLICIES, AddressRefused, LookUpFailed, resolve

if TYPE_CHECKING:
    from search.agents.llm.addresses import AddressPolicy

LOOK_UP_S = 5.0


def policy() -> AddressPolicy:
    """What this installation allows."""
    return POLICIES[settings.MODEL_HOSTS]


def refusal(base_url: str) -> str:
    """Why an address may not be called; empty when it may, or when its name does not resolve right now."""
    parts = urlsplit(base_url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        resolve(parts.hostname or "", port, policy(), LOOK_UP_S)
    except AddressRefused as error:
        return str(error)
    except LookUpFailed:
        return ""  # the test of the endpoint says so; a laptop may be offline while it is set up
    return ""


def words() -> str:
    """One line for people."""
    return {
        "public": "Public addresses only.",
        "loopback": "Public addresses, and servers on this machine.",
        "private": "Any address, those of private networks included.",
    }[settings.MODEL_HOSTS]
