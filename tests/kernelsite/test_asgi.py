from __future__ import annotations

import pytest
from channels.testing import HttpCommunicator, WebsocketCommunicator

from kernelsite.asgi import application

pytestmark = [pytest.mark.anyio, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(autouse=True)
def in_memory_layer(settings):
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}


def socket(*headers):
    return WebsocketCommunicator(application, "/ws/searches/1/", headers=[(b"host", b"localhost"), *headers])


async def test_pages_are_served():
    answer = await HttpCommunicator(
        application, "GET", "/healthz", headers=[(b"host", b"localhost")]
    ).get_response()
    assert (answer["status"], answer["body"]) == (200, b"ok\n")


@pytest.mark.parametrize("origin", [b"https://evil.example", b"http://localhost:9999", b"null", None])
async def test_a_socket_opened_by_another_site_is_refused(origin):
    """F138: also by another port of this host, to which a browser sends the same cookies."""
    accepted, code = await socket(*([(b"origin", origin)] if origin else [])).connect()
    assert not accepted
    # Ours would say 4403: the connection did not get that far.
    assert code != 4403


async def test_a_stranger_is_refused_before_the_socket_opens():
    accepted, code = await socket((b"origin", b"http://localhost")).connect()
    assert (accepted, code) == (False, 4403)
