"""Requests to a site: one connection each, repeated where that is harmless, errors as exceptions."""

from __future__ import annotations

import http.client
import json
import random
import ssl
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelsite.api.client.credentials import Credentials

TRIES = 6
FIRST_REST_S, LONGEST_REST_S = 0.5, 30.0
TIMEOUT_S = 30.0
MOST_BYTES = 64 * 2**20
LATER = frozenset({429, 502, 503, 504})
"""Statuses after which the same request may be answered otherwise."""


class ApiError(Exception):
    """The site refused: `status`, `detail`, and for wrong fields `errors` as pairs of field and message."""

    def __init__(self, status: int, detail: str, errors: tuple[tuple[str, str], ...] = ()) -> None:
        told = "".join(f"\n  {field}: {message}" for field, message in errors if message != detail)
        super().__init__(f"{detail} ({status}){told}")
        self.status, self.detail, self.errors = status, detail, errors


class UnreachableError(Exception):
    """No answer came."""


@dataclass(frozen=True)
class Reply:
    """An answer below 400."""

    status: int
    headers: http.client.HTTPMessage
    content: bytes

    @property
    def document(self) -> Any:
        """Its JSON; None of an empty answer."""
        return json.loads(self.content) if self.content else None

    @property
    def file_name(self) -> str:
        """Name under which the site would have it saved; never a path."""
        name = self.headers.get_filename() or "download"
        return name.replace("\\", "/").rpartition("/")[2].lstrip(".") or "download"


@dataclass
class Transport:
    """Sends requests of one token."""

    credentials: Credentials
    tries: int = TRIES
    _tls: ssl.SSLContext = field(default_factory=ssl.create_default_context, repr=False)

    def send(  # what a request is made of
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        key: str = "",
        timeout_s: float = TIMEOUT_S,
    ) -> Reply:
        """One request below `/api/v1`. All but a POST without a key are repeated when no answer came.

        Raises:
            ApiError: the site refused.
            UnreachableError: no answer came, however often it was asked.
        """
        repeatable = method != "POST" or bool(key)
        for number in range(1, self.tries + 1):
            last = number == self.tries
            try:
                reply = self._once(method, _target(path, query), body, key, timeout_s)
            except (OSError, http.client.HTTPException) as error:
                # A connection that was never made has done nothing, so any request may be repeated.
                if last or not (repeatable or isinstance(error, ConnectionRefusedError)):
                    raise UnreachableError(f"{self.credentials.url} does not answer: {error}") from error
                time.sleep(_rest_s(number, None))
                continue
            again = reply.status in LATER and (repeatable or reply.status == 429)
            if last or not again:
                return _checked(reply)
            time.sleep(_rest_s(number, reply.headers.get("Retry-After")))
        raise AssertionError("the last try returns or raises")

    def _once(self, method: str, target: str, body: Any, key: str, timeout_s: float) -> Reply:
        headers = {"Authorization": f"Bearer {self.credentials.token}", "Accept": "application/json"}
        headers |= {"Idempotency-Key": key} if key else {}
        content = None
        if body is not None:
            content = json.dumps(body, allow_nan=False).encode()
            headers["Content-Type"] = "application/json"
        connection = self._connection(timeout_s)
        try:
            connection.request(method, self._root + target, content, headers)
            response = connection.getresponse()
            held = response.read(MOST_BYTES + 1)
            if len(held) > MOST_BYTES:
                raise http.client.HTTPException(f"the answer is longer than {MOST_BYTES} bytes")
            return Reply(response.status, response.headers, held)
        finally:
            connection.close()

    @property
    def _root(self) -> str:
        return f"{urlsplit(self.credentials.url).path.rstrip('/')}/api/v1"

    def _connection(self, timeout_s: float) -> http.client.HTTPConnection:
        parts = urlsplit(self.credentials.url)
        host = parts.hostname or ""
        if parts.scheme == "https":
            return http.client.HTTPSConnection(host, parts.port, timeout=timeout_s, context=self._tls)
        return http.client.HTTPConnection(host, parts.port, timeout=timeout_s)


def _target(path: str, query: Mapping[str, Any] | None) -> str:
    words = {name: value for name, value in (query or {}).items() if value not in (None, "")}
    return f"{path}?{urlencode(words)}" if words else path


def _rest_s(number: int, asked: str | None) -> float:
    """Seconds before the next try: what the site asked for, else doubled each time and spread."""
    if asked is not None and asked.isdecimal():
        return min(float(asked), 90.0)
    rest: float = min(FIRST_REST_S * 2 ** (number - 1), LONGEST_REST_S)
    return rest * random.uniform(0.7, 1.3)


def _checked(reply: Reply) -> Reply:
    if 300 <= reply.status < 400 and reply.status != 304:
        # Following would hand the token to whatever address the answer names.
        raise ApiError(reply.status, f"the site sends elsewhere: {reply.headers.get('Location')}")
    if reply.status < 400:
        return reply
    try:
        told = json.loads(reply.content)
        errors = tuple((str(each["field"]), str(each["message"])) for each in told.get("errors", ()))
        raise ApiError(reply.status, str(told["detail"]), errors)
    except (ValueError, TypeError, KeyError, AttributeError):
        raise ApiError(reply.status, "the answer is no problem document; is this a Kernelsite?") from None
