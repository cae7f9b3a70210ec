"""Bodies of requests are bounded before anything reads them: Django writes a whole upload to disk before a view runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    Message = Mapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    Application = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]

LIMIT_BYTES = 80 << 20
"""Of a whole request; forms say less."""
_TOLD = f"The request is longer than {LIMIT_BYTES >> 20} MiB.\n".encode()


class _TooLongError(Exception):
    """More came than may."""


def bounded(application: Application, limit: int = LIMIT_BYTES) -> Application:
    """The application, which answers 413 to a body that is longer than the limit: as announced, or as it comes."""

    async def answer(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await application(scope, receive, send)
        elif _announced(scope) > limit:
            await _refuse(send)
        else:
            await _watched(application, scope, (receive, send), limit)

    return answer


def _announced(scope: dict[str, Any]) -> int:
    told = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    return int(told) if told.isdigit() and len(told) < 20 else 0


async def _watched(
    application: Application, scope: dict[str, Any], ends: tuple[Receive, Send], limit: int
) -> None:
    """A body that comes in pieces announces nothing, so it is counted."""
    receive, send = ends
    came, began = 0, False

    async def counted() -> Message:
        nonlocal came
        message = await receive()
        came += len(message.get("body", b""))
        if came > limit:
            raise _TooLongError
        return message

    async def noted(message: Message) -> None:
        nonlocal began
        began = True
        await send(message)

    try:
        await application(scope, counted, noted)
    except _TooLongError:
        if not began:
            await _refuse(send)


async def _refuse(send: Send) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": _TOLD})
