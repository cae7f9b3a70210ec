"""What is posted to a webhook, how it is signed (https://www.standardwebhooks.com), and the post itself.

The connection is the one of model endpoints: the name is looked up once, the address is checked against
`settings.MODEL_HOSTS` and then connected to; no proxies, no redirects, one deadline over everything.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import ssl
import time
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpcore2
from django.conf import settings

from kernelsite.endpoints import reach
from kernelsite.notices.models import Style
from search.agents.llm.addresses import AddressRefused
from search.agents.llm.transport import BadBody, Exchange

if TYPE_CHECKING:
    from kernelsite.notices.models import Delivery, Notice

DEADLINE_S = 10.0
GONE = 410
"""What a receiver answers that wants nothing more, ever."""


@dataclass(frozen=True)
class Answer:
    """What came of one post; the receiver's words are not kept, since they may come from inside a network."""

    status: int
    """0: there was none."""
    error: str

    @property
    def is_taken(self) -> bool:
        """The receiver has it."""
        return 200 <= self.status < 300


def message_id(delivery: Delivery) -> str:
    """By which a receiver knows what it has already; the same at each try."""
    return f"msg_{delivery.uid.hex}"


def body_of(delivery: Delivery) -> bytes:
    """The document to post."""
    webhook, notice = delivery.webhook, delivery.notice
    assert webhook is not None  # a delivery by mail has no body
    document = _slack(notice) if webhook.style == Style.SLACK else _standard(delivery)
    return json.dumps(document, ensure_ascii=False, allow_nan=False).encode()


def _standard(delivery: Delivery) -> dict[str, Any]:
    notice = delivery.notice
    return {
        "type": notice.event,
        "timestamp": notice.created_at.isoformat(),
        "id": message_id(delivery),
        "data": {
            "team": notice.team.slug,
            "title": notice.title,
            "text": notice.text,
            "url": absolute(notice.link),
        },
    }


def _slack(notice: Notice) -> dict[str, Any]:
    """The three signs that Slack reads as markup are escaped as it asks; a title cannot name `@channel`."""
    title = f"<{absolute(notice.link)}|{_escaped(notice.title)}>" if notice.link else _escaped(notice.title)
    lines = [f"*{_escaped(notice.team.name)}*: {title}", _escaped(notice.text)]
    return {"text": "\n".join(line for line in lines if line), "unfurl_links": False}


def _escaped(text: str) -> str:
    # Inside a link a bar would end its address.
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("|", "\N{BROKEN BAR}")


def absolute(path: str) -> str:
    """A path of the site as an address; empty stays empty."""
    return f"{settings.SITE_URL}{path}" if path.startswith("/") else ""


def signature(secret: str, identity: str, at: int, body: bytes) -> str:
    """`v1,` and HMAC-SHA256 of id, time and body, in base64; a receiver refuses what is too old."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{identity}.{at}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def post(url: str, secret: str, identity: str, body: bytes) -> Answer:
    """Send one body; errors are answers."""
    now = int(time.time())
    headers: list[tuple[bytes | str, bytes | str]] = [
        ("Host", urlsplit(url).netloc),
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(body))),
        ("User-Agent", "kernelsite"),
        ("webhook-id", identity),
        ("webhook-timestamp", str(now)),
        ("webhook-signature", signature(secret, identity, now, body)),
    ]
    try:
        return Answer(_exchange(url, headers, body), "")
    except AddressRefused as error:
        return Answer(0, f"{error}. {reach.words()}")
    except httpcore2.TimeoutException:
        return Answer(0, f"no answer within {DEADLINE_S:g} s")
    except (httpcore2.NetworkError, httpcore2.ProtocolError, BadBody, OSError) as error:
        return Answer(0, str(error)[:200] or type(error).__name__)


def _exchange(url: str, headers: list[tuple[bytes | str, bytes | str]], body: bytes) -> int:
    exchange = Exchange(time.monotonic() + DEADLINE_S, reach.policy())
    pool = httpcore2.ConnectionPool(
        ssl_context=_tls(), max_keepalive_connections=0, http2=False, network_backend=exchange
    )
    # The answer's body is not read: it may be endless.
    with pool, pool.stream("POST", url, headers=headers, content=body) as answer:
        return int(answer.status)


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()
