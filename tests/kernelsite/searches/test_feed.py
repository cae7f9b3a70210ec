from __future__ import annotations

import asyncio
import gc

import pytest
from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer
from django.contrib.auth import get_user_model
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext
from redis.exceptions import ConnectionError as RedisConnectionError

from kernelsite.accounts.models import Membership
from kernelsite.searches import events, feed, live
from search.records import EventKind

pytestmark = [pytest.mark.anyio, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def anyio_backend():
    return "asyncio"


@sync_to_async
def tell(search, count=1):
    for number in range(count):
        with events.locked(search.pk) as row:
            events.append(row, EventKind.STATE, f"news {number}")


def watcher(user):
    return live.Watcher(user.pk, None, has_session=False)


async def woken(bell):
    await asyncio.wait_for(bell.wait(), 5)
    bell.clear()


async def eventually(condition):
    for _ in range(200):
        if condition():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("never")


@sync_to_async
def counted(search, asks):
    with CaptureQueriesContext(connection) as queries:
        answers = live.read_all(search.pk, asks)
    return len(queries), answers


async def test_fifty_sockets_cost_the_queries_of_one(launch, alice):
    search = await sync_to_async(launch)()
    await tell(search, 5)
    one, _ = await counted(search, [live.Ask(watcher(alice), 2)])
    many, answers = await counted(search, [live.Ask(watcher(alice), 2)] * 50)
    assert one == many <= 4
    assert {answer.to for answer in answers} == {6}
    assert len({answer.frame for answer in answers}) == 1


async def test_everybody_gets_what_they_lack_and_strangers_nothing(launch, alice, charlie):
    search = await sync_to_async(launch)()
    await tell(search, 3)
    asks = [live.Ask(watcher(alice), 3), live.Ask(watcher(charlie), 0), live.Ask(watcher(alice), 4), live.Ask(watcher(alice), None)]  # fmt: skip
    _, (behind, stranger, level, asking) = await counted(search, asks)
    assert (behind.to, '"from": 4' in behind.frame) == (4, True)
    assert (stranger.state, stranger.frame) == (None, "")
    assert (level.state.seq, level.frame) == (4, "")
    assert asking.state == level.state


async def test_readers_at_the_same_time_share_a_read(launch, alice, monkeypatch):
    search = await sync_to_async(launch)()
    sizes, read = [], live.read

    async def counting(search_id, asks):
        sizes.append(len(asks))
        return await read(search_id, asks)

    monkeypatch.setattr(live, "read", counting)
    watched = feed.feed_of(search.pk)
    answers = await asyncio.gather(*(watched.read(live.Ask(watcher(alice), 0)) for _ in range(30)))
    assert sizes == [30]
    assert all(answer.to == 1 for answer in answers)


async def test_who_asks_during_a_read_gets_a_later_one(launch, alice, monkeypatch):
    """What was committed before a socket asked must be in its answer, also when a read was on its way."""
    search = await sync_to_async(launch)()
    read, begun, going = live.read, asyncio.Event(), asyncio.Event()

    async def slow(search_id, asks):
        answers = await read(search_id, asks)
        begun.set()
        await going.wait()
        return answers

    monkeypatch.setattr(live, "read", slow)
    watched = feed.feed_of(search.pk)
    first = asyncio.create_task(watched.read(live.Ask(watcher(alice), 0)))
    await begun.wait()
    await tell(search)
    second = asyncio.create_task(watched.read(live.Ask(watcher(alice), 0)))
    going.set()
    assert ((await first).to, (await second).to) == (1, 2)


async def test_one_bell_wakes_all_and_the_last_to_leave_stops_listening(launch, alice):
    search = await sync_to_async(launch)()
    watched, bells = feed.feed_of(search.pk), [asyncio.Event() for _ in range(3)]
    for bell in bells:
        watched.attach(bell)
    await eventually(lambda: get_channel_layer().groups.get(events.group(search.pk)))
    assert len(get_channel_layer().groups[events.group(search.pk)]) == 1
    await tell(search)
    for bell in bells:
        await woken(bell)
    listener = watched.listener
    for bell in bells:
        watched.detach(bell)
    await eventually(listener.done)
    assert not get_channel_layer().groups.get(events.group(search.pk))
    del watched, listener
    gc.collect()
    assert search.pk not in feed._feeds


async def test_a_broker_that_goes_away_is_joined_again(launch, alice, monkeypatch):
    search = await sync_to_async(launch)()
    monkeypatch.setattr(feed, "RETRY_S", 0.01)
    layer, failures = (
        get_channel_layer(),
        [RedisConnectionError("gone"), OSError("gone"), RedisConnectionError("gone")],
    )
    join = layer.group_add

    async def failing(group, channel):
        if failures:
            raise failures.pop()
        await join(group, channel)

    monkeypatch.setattr(layer, "group_add", failing)
    watched, bell = feed.feed_of(search.pk), asyncio.Event()
    watched.attach(bell)
    await eventually(lambda: layer.groups.get(events.group(search.pk)))
    await tell(search)
    await woken(bell)
    watched.detach(bell)
    assert not failures


async def test_membership_is_renewed_while_somebody_listens(launch, alice, monkeypatch):
    search = await sync_to_async(launch)()
    monkeypatch.setattr(feed, "REJOIN_S", 0.05)
    watched, bell = feed.feed_of(search.pk), asyncio.Event()
    watched.attach(bell)
    await asyncio.sleep(0.3)
    await eventually(lambda: get_channel_layer().groups.get(events.group(search.pk)))
    get_channel_layer().groups.clear()  # as a broker that was restarted
    await eventually(lambda: get_channel_layer().groups.get(events.group(search.pk)))
    watched.detach(bell)


async def test_a_database_that_fails_fails_every_reader_and_not_the_next(launch, alice, monkeypatch):
    search = await sync_to_async(launch)()
    read = live.read

    async def broken(search_id, asks):
        raise DatabaseError("no")

    monkeypatch.setattr(live, "read", broken)
    watched = feed.feed_of(search.pk)
    asks = [watched.read(live.Ask(watcher(alice), 0)) for _ in range(2)]
    assert all(
        isinstance(answer, DatabaseError) for answer in await asyncio.gather(*asks, return_exceptions=True)
    )
    monkeypatch.setattr(live, "read", read)
    assert (await watched.read(live.Ask(watcher(alice), 0))).to == 1


async def test_a_person_who_was_switched_off_is_answered_no(launch, alice, team):
    search = await sync_to_async(launch)()
    bob = await sync_to_async(get_user_model().objects.create_user)("bob")
    await Membership.objects.acreate(team=team, user=bob, role="viewer")
    watched = feed.feed_of(search.pk)
    assert (await watched.read(live.Ask(watcher(bob), None))).state is not None
    await get_user_model().objects.filter(pk=bob.pk).aupdate(is_active=False)
    assert (await watched.read(live.Ask(watcher(bob), None))).state is None
