"""One HTTP exchange under one deadline, one limit on its size and a check of the address.

HTTP libraries time out each read by itself, so a server that drips bytes is never too late. Here every
look-up, connect, handshake, read and write gets what is left until the deadline.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, cast

import httpcore2
import httpx2

from search.agents.llm.addresses import LookUpFailed, resolve

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterable, Iterator

    from search.agents.llm.addresses import AddressPolicy

BODY_LIMIT_BYTES = 4 * 1024 * 1024
"""Of an answer with its headers. A full context of text is a tenth of it; a stream adds frames to each token."""
_WRITE_CHUNK = 16 * 1024
_KEPT_HEADERS = {"host", "accept", "authorization", "content-type", "content-length", "transfer-encoding"}


class BadBody(Exception):
    """The answer cannot be a chat completion: too large, or packed although that was not asked for."""


class Exchange(httpcore2.NetworkBackend):
    """Network access of one request: until `deadline` (of `clock`), to addresses that `policy` allows.

    Attributes:
        sent: something left this machine.
        answered: the server's headers came back.
    """

    def __init__(
        self, deadline: float, policy: AddressPolicy, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.deadline = deadline
        self.policy = policy
        self.clock = clock
        self.sent = False
        self.answered = False
        self.received_bytes = 0

    def left_s(self, error: type[httpcore2.TimeoutException]) -> float:
        """Seconds until the deadline.

        Raises:
            httpcore2.TimeoutException: there are none; as the kind that the caller names.
        """
        left = self.deadline - self.clock()
        if left <= 0:
            raise error("the deadline passed")
        return left

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        """Connect to the first checked address that accepts."""
        try:
            addresses = resolve(host, port, self.policy, self.left_s(httpcore2.ConnectTimeout))
        except LookUpFailed as error:
            raise httpcore2.ConnectError(str(error)) from error
        for address in addresses[:-1]:
            try:
                return self._connected(address, port)
            except httpcore2.ConnectError:
                continue
        return self._connected(addresses[-1], port)

    def _connected(self, address: str, port: int) -> httpcore2.NetworkStream:
        left = self.left_s(httpcore2.ConnectTimeout)
        return _Stream(httpcore2.SyncBackend().connect_tcp(address, port, left, None, ()), self)


class _Stream(httpcore2.NetworkStream):
    """A connection whose every operation ends at the deadline of its exchange."""

    def __init__(self, inner: httpcore2.NetworkStream, exchange: Exchange) -> None:
        self._inner = inner
        self._exchange = exchange

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = self._inner.read(max_bytes, self._exchange.left_s(httpcore2.ReadTimeout))
        self._exchange.received_bytes += len(data)
        if self._exchange.received_bytes > BODY_LIMIT_BYTES:
            raise BadBody(f"the answer is larger than {BODY_LIMIT_BYTES // 1024**2} MiB")
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._exchange.sent = True
        for start in range(0, len(buffer), _WRITE_CHUNK):
            left = self._exchange.left_s(httpcore2.WriteTimeout)
            self._inner.write(buffer[start : start + _WRITE_CHUNK], left)

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        left = self._exchange.left_s(httpcore2.ConnectTimeout)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, left), self._exchange)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class Transport(httpx2.BaseTransport):
    """`httpx2` over an `Exchange`: no proxies, no kept connections, no compression, few headers."""

    def __init__(self, exchange: Exchange, tls: ssl.SSLContext) -> None:
        self.exchange = exchange
        self._pool = httpcore2.ConnectionPool(
            ssl_context=tls, max_keepalive_connections=0, http2=False, network_backend=exchange
        )

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send and wait for the headers.

        Raises:
            httpx2.TimeoutException: the deadline passed.
            httpx2.NetworkError: the connection failed.
            BadBody: the answer is packed.
        """
        headers = [(name, value) for name, value in request.headers.raw if _is_kept(name)]
        sent = httpcore2.Request(
            method=request.method,
            url=httpcore2.URL(
                scheme=request.url.raw_scheme,
                host=request.url.raw_host,
                port=request.url.port,
                target=request.url.raw_path,
            ),
            headers=[*headers, (b"Accept-Encoding", b"identity"), (b"User-Agent", b"kernelsite")],
            content=request.stream,
            extensions=request.extensions,
        )
        with _errors_of_httpx(request):
            answer = self._pool.handle_request(sent)
        self.exchange.answered = True
        response = httpx2.Response(
            answer.status, headers=answer.headers, stream=_Body(answer.stream, request)
        )
        return _unpacked(response)

    def close(self) -> None:
        """Close the connection."""
        self._pool.close()


def _is_kept(name: bytes) -> bool:
    """The SDK adds its version, the operating system, and organisation names out of the environment."""
    return name.decode("latin-1").lower() in _KEPT_HEADERS


def _unpacked(response: httpx2.Response) -> httpx2.Response:
    """A packed answer could grow a thousandfold; none was asked for. An error keeps its status, without text."""
    if response.headers.get("content-encoding", "identity").strip().lower() in {"", "identity"}:
        return response
    if response.is_success:
        raise BadBody("the server packed its answer although it was asked not to")
    return httpx2.Response(
        response.status_code, headers={"retry-after": response.headers.get("retry-after", "")}
    )


class _Body(httpx2.SyncByteStream):
    def __init__(self, stream: object, request: httpx2.Request) -> None:
        self._stream = cast("Iterable[bytes]", stream)
        self._request = request

    def __iter__(self) -> Iterator[bytes]:
        with _errors_of_httpx(self._request):
            yield from self._stream

    def close(self) -> None:
        if close := getattr(self._stream, "close", None):
            close()


class _errors_of_httpx:
    """Errors of the connection as the ones the SDK knows."""

    def __init__(self, request: httpx2.Request) -> None:
        self._request = request

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, httpcore2.TimeoutException):
            raise httpx2.ReadTimeout(str(error), request=self._request) from error
        if isinstance(error, httpcore2.NetworkError | httpcore2.ProtocolError):
            raise httpx2.NetworkError(str(error), request=self._request) from error
