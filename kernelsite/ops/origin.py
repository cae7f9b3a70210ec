"""Live connections from pages of this very site only.

A browser sends cookies to every port of a host, and `AllowedHostsOriginValidator` looks at host names alone: another
program on the same machine could open a socket as the person who is logged in here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from channels.security.websocket import WebsocketDenier

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

DEFAULT_PORTS = {"http": 80, "https": 443}


class SameOrigin:
    """ASGI middleware: refuses a socket whose `Origin` is not the host and port that it asks for."""

    def __init__(self, inner: Callable[..., Awaitable[Any]]) -> None:
        self.inner = inner

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> Any:
        """Pass on or refuse, before anything is accepted."""
        headers = dict(scope["headers"])
        origin, host = (headers.get(name, b"").decode("latin-1") for name in (b"origin", b"host"))
        if is_same(origin, host):
            return await self.inner(scope, receive, send)
        return await WebsocketDenier()(scope, receive, send)


def is_same(origin: str, host: str) -> bool:
    """Whether an origin is at a host header's name and port; what cannot be read is not."""
    try:
        page = urlsplit(origin)
        asked = urlsplit(f"//{host}")
        port = DEFAULT_PORTS.get(page.scheme)
        pair = (page.hostname, page.port or port), (asked.hostname, asked.port or port)
    except ValueError:
        return False
    return port is not None and bool(page.hostname) and pair[0] == pair[1]
