"""Whose address a request comes from, when there are proxies in front."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings

if TYPE_CHECKING:
    from django.http import HttpRequest


def client_address(request: HttpRequest) -> str:
    """Address that the outermost trusted proxy saw; what the client itself put into the header is not believed."""
    direct = str(request.META.get("REMOTE_ADDR") or "")
    hops = [hop.strip() for hop in request.headers.get("X-Forwarded-For", "").split(",") if hop.strip()]
    seen = [*hops, direct]
    return seen[-1 - min(settings.PROXIES, len(hops))][:64]
