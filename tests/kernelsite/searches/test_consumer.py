from __future__ import annotations

import asyncio
import itertools

import pytest
from asgiref.sync import sync_to_async
from channels.routing import URLRouter
from channels.testing import WebsocketCommunicator
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.test import Client, override_settings

from kernelsite.accounts.models import Membership
from kernelsite.searches import controls, events
from kernelsite.searches.routing import websocket_urlpatterns
from search.records import EventKind

pytestmark = [pytest.mark.anyio, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def anyio_backend():
    return "asyncio"


def socket(search, user, query=""):
    communicator = WebsocketCommunicator(
        URLRouter(websocket_urlpatterns), f"/ws/searches/{search.pk}/?{query}"
    )
    communicator.scope["user"] = user
    return communicator


@sync_to_async
def tell(search, count=1):
    for number in range(count):
        with events.locked(search.pk) as row:
            events.append(row, EventKind.STATE, f"news {number}")


async def deltas(communicator, until):
    """Events received until one has that sequence number."""
    received = []
    while not received or received[-1]["s"] < until:
        frame = await communicator.receive_json_from(timeout=5)
        if frame["t"] == "delta":
            assert [event["s"] for event in frame["events"]] == list(range(frame["from"], frame["to"] + 1))
            received += frame["events"]
    return received


async def test_hello_backlog_live(launch, alice):
    search = await sync_to_async(launch)()
    await tell(search, 4)
    communicator = socket(search, alice, "after=2")
    assert (await communicator.connect())[0]
    hello = await communicator.receive_json_from()
    assert (hello["t"], hello["v"], hello["seq"]) == ("hello", 1, 5)
    assert [event["s"] for event in await deltas(communicator, 5)] == [3, 4, 5]
    await tell(search, 3)
    assert [event["s"] for event in await deltas(communicator, 8)] == [6, 7, 8]
    await communicator.disconnect()


async def test_a_dropped_bell_is_healed_by_the_heartbeat(launch, alice, monkeypatch):
    search = await sync_to_async(launch)()
    with override_settings(KERNELSITE={"heartbeat_s": 0.3}):
        communicator = socket(search, alice, "after=1")
        await communicator.connect()
        await communicator.receive_json_from()
        await asyncio.sleep(0.3)
        monkeypatch.setattr(events, "ring", lambda *_: None)
        await tell(search, 2)
        assert [event["s"] for event in await deltas(communicator, 3)] == [2, 3]
        await communicator.disconnect()


async def test_every_second_bell_dropped_still_gives_everything_in_order(launch, alice, monkeypatch):
    search = await sync_to_async(launch)()
    ring, bells = events.ring, []

    def deaf(search_id, seq):
        bells.append(seq)
        if len(bells) % 2:
            ring(search_id, seq)

    monkeypatch.setattr(events, "ring", deaf)
    with override_settings(KERNELSITE={"heartbeat_s": 0.5}):
        communicator = socket(search, alice, "after=0")
        await communicator.connect()
        for _ in range(10):
            await tell(search, 3)
        received = await deltas(communicator, 31)
        await communicator.disconnect()
    assert [event["s"] for event in received] == list(range(1, 32))
    assert len(bells) == 30


async def test_bells_out_of_order_and_doubled_change_nothing(launch, alice, monkeypatch):
    """Bells carry no content that is believed: late, early or twice, they only say "look"."""
    search = await sync_to_async(launch)()
    ring, held = events.ring, []
    monkeypatch.setattr(events, "ring", lambda search_id, seq: held.append(seq))
    communicator = socket(search, alice, "after=1")
    await communicator.connect()
    await tell(search, 12)
    for seq in [*reversed(held), *held, 10**6]:
        await sync_to_async(ring)(search.pk, seq)
    received = await deltas(communicator, 13)
    await communicator.disconnect()
    assert [event["s"] for event in received] == list(range(2, 14))


async def test_frames_keep_their_distance(launch, alice):
    search = await sync_to_async(launch)()
    communicator = socket(search, alice, "after=1")
    await communicator.connect()
    await communicator.receive_json_from()
    telling = asyncio.ensure_future(tell(search, 60))
    loop, stamps, last = asyncio.get_running_loop(), [], 0
    while last < 61:
        frame = await communicator.receive_json_from(timeout=5)
        stamps.append(loop.time())
        last = frame["to"]
    await telling
    await communicator.disconnect()
    assert len(stamps) < 60
    assert all(after - before >= 0.09 for before, after in itertools.pairwise(stamps))


async def test_sync_after_a_gap(launch, alice):
    search = await sync_to_async(launch)()
    await tell(search, 5)
    communicator = socket(search, alice, "after=6")
    await communicator.connect()
    await communicator.receive_json_from()
    await communicator.send_json_to({"t": "sync", "after": 2})
    assert [event["s"] for event in await deltas(communicator, 6)] == [3, 4, 5, 6]
    await communicator.disconnect()


@pytest.mark.parametrize(
    "message", [{"t": "sync", "after": "1; DROP"}, {"t": "other"}, [], "x", {"t": "sync", "after": None}]
)
async def test_nonsense_from_a_client_is_survived(launch, alice, message):
    search = await sync_to_async(launch)()
    communicator = socket(search, alice, "after=1")
    await communicator.connect()
    await communicator.receive_json_from()
    await communicator.send_json_to(message)
    await tell(search)
    assert (await deltas(communicator, 2))[-1]["s"] == 2
    await communicator.disconnect()


@pytest.mark.parametrize("text", ["not json", "{"])
async def test_broken_json_does_not_reach_anyone_else(launch, alice, text):
    search = await sync_to_async(launch)()
    communicator, other = socket(search, alice, "after=1"), socket(search, alice, "after=1")
    await communicator.connect()
    await other.connect()
    await communicator.send_to(text_data=text)
    await tell(search)
    assert (await deltas(other, 2))[-1]["s"] == 2
    await other.disconnect()


@pytest.mark.parametrize("query", ["after=0&epoch=another", "after=999"])
async def test_another_epoch_or_future_is_told_to_resync(launch, alice, query):
    search = await sync_to_async(launch)()
    communicator = socket(search, alice, query)
    await communicator.connect()
    await communicator.receive_json_from()
    assert (await communicator.receive_json_from())["t"] == "resync"
    await communicator.disconnect()


async def test_far_behind_is_told_to_resync(launch, alice, monkeypatch):
    from kernelsite.searches import live

    monkeypatch.setattr(live, "TOO_FAR_BEHIND", 3)
    search = await sync_to_async(launch)()
    await tell(search, 6)
    communicator = socket(search, alice, "after=0")
    await communicator.connect()
    await communicator.receive_json_from()
    assert (await communicator.receive_json_from())["reason"] == "too far behind"
    await communicator.disconnect()


async def test_strangers_are_refused(launch, charlie):
    search = await sync_to_async(launch)()
    for user in (charlie, AnonymousUser()):
        connected, code = await socket(search, user).connect()
        assert (connected, code) == (False, 4403)


async def test_an_unknown_search_is_refused(launch, alice):
    search = await sync_to_async(launch)()
    search.pk = 10**6
    assert await socket(search, alice).connect() == (False, 4403)


async def test_removal_from_the_team_closes_the_socket(launch, alice):
    search = await sync_to_async(launch)()
    communicator = socket(search, alice, "after=1")
    await communicator.connect()
    await communicator.receive_json_from()
    await Membership.objects.filter(user=alice).adelete()
    await tell(search)
    frame = await communicator.receive_json_from()
    assert (frame["t"], frame["action"]) == ("ctl", "revoked")
    assert (await communicator.receive_output())["code"] == 4403


async def test_log_out_closes_the_socket(launch, alice, client):
    search = await sync_to_async(launch)()
    await sync_to_async(client.force_login)(alice)
    communicator = socket(search, alice, "after=1")
    communicator.scope["session"] = client.session
    await communicator.connect()
    await communicator.receive_json_from()
    await sync_to_async(client.logout)()
    await tell(search)
    assert (await communicator.receive_json_from())["action"] == "revoked"


@pytest.mark.parametrize("way", ["log out", "remove", "elsewhere"])
async def test_the_bell_of_a_person_closes_their_sockets_long_before_the_heartbeat(
    launch, alice, team, client, way
):
    """F137: each through the page that does it, with the bell that it rings."""
    search = await sync_to_async(launch)()
    admin = await sync_to_async(another_admin)(team)
    await sync_to_async(client.force_login)(alice)
    with override_settings(KERNELSITE={"heartbeat_s": 60}):
        communicator = socket(search, alice, "after=1")
        communicator.scope["session"] = client.session
        await communicator.connect()
        await communicator.receive_json_from()
        await asyncio.sleep(0.3)
        await sync_to_async(SHUT_OUT[way])(client, admin, alice)
        assert (await communicator.receive_json_from(timeout=5))["action"] == "revoked"
        assert (await communicator.receive_output(timeout=1))["code"] == 4403


def another_admin(team):
    user = get_user_model().objects.create_user("boss")
    Membership.objects.create(team=team, user=user, role="admin")
    browser = Client()
    browser.force_login(user)
    return browser


def remove(_, admin, alice):
    place = Membership.objects.get(user=alice)
    assert admin.post(f"/settings/team/members/{place.pk}", {"role": "removed"}).status_code == 302


def end_from_elsewhere(_, admin, alice):
    browser = Client()
    browser.force_login(alice)
    browser.post("/settings/profile/sessions", {"which": "others"})


SHUT_OUT = {
    "log out": lambda client, *_: client.post("/accounts/logout/"),
    "remove": remove,
    "elsewhere": end_from_elsewhere,
}


async def test_a_finished_search_says_so_and_closes(launch, alice):
    search = await sync_to_async(launch)()
    communicator = socket(search, alice, "after=1")
    await communicator.connect()
    await communicator.receive_json_from()
    await sync_to_async(controls.stop)(search.pk)
    assert (await deltas(communicator, 2))[-1]["d"]["search"]["state"] == "stopped"
    assert (await communicator.receive_json_from())["action"] == "finished"
    assert (await communicator.receive_output())["code"] == 1000


async def test_a_slow_reader_costs_no_memory(launch, alice):
    """Bells collapse: three hundred of them leave one flag and few frames."""
    search = await sync_to_async(launch)()
    communicator = socket(search, alice, "after=1")
    await communicator.connect()
    await tell(search, 300)
    await asyncio.sleep(0.5)
    received = await deltas(communicator, 301)
    assert len(received) == 300
    await communicator.disconnect()
