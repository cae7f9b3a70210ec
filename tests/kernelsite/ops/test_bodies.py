"""A body over the limit is refused before Django sees it, announced or not."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from kernelsite.ops.bodies import bounded

LIMIT = 100


def finish(coroutine):
    """In a thread of its own: browser tests before this one leave a running loop in the main thread."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, coroutine).result()


def ask(headers, pieces, *, answers_first=False):
    """Status, and what the application had read when it was over."""
    sent, read = [], []
    waiting = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
    waiting[-1]["more_body"] = False

    async def application(scope, receive, send):
        if answers_first:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        more = True
        while more:
            message = await receive()
            read.append(message["body"])
            more = message["more_body"]
        await send({"type": "http.response.start", "status": 201, "headers": []})

    async def receive():
        return waiting.pop(0)

    async def send(message):
        sent.append(message)

    finish(bounded(application, LIMIT)({"type": "http", "headers": headers}, receive, send))
    return [message["status"] for message in sent if "status" in message], b"".join(read)


def test_a_short_body_passes_whole():
    assert ask([(b"content-length", b"100")], [b"a" * 60, b"b" * 40]) == ([201], b"a" * 60 + b"b" * 40)


def test_an_announced_long_body_is_not_read():
    assert ask([(b"content-length", b"101")], [b"a"]) == ([413], b"")


@pytest.mark.parametrize("told", [b"7", b"-1", b"9" * 30, b"x", b"\xb2"])
def test_a_body_that_lies_about_its_length_is_counted(told):
    status, read = ask([(b"content-length", told)], [b"a" * 60, b"b" * 60])
    assert status == [413]
    assert len(read) <= LIMIT


def test_an_answer_that_has_begun_is_not_begun_again():
    assert ask([], [b"a" * 101], answers_first=True)[0] == [200]


def test_sockets_are_left_alone():
    seen = []

    async def application(scope, receive, send):
        seen.append(scope["type"])

    finish(bounded(application, LIMIT)({"type": "websocket"}, None, None))
    assert seen == ["websocket"]
