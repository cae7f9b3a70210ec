"""What one process knows of a search's log: one bell and one read at a time for all sockets that watch it.

Three hundred sockets that each joined the group and each asked the database would cost thousands of messages and
queries a second; here they share them.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from channels.layers import get_channel_layer
from django.db import DatabaseError
from redis.exceptions import RedisError

from kernelsite.searches import live
from kernelsite.searches.events import group

if TYPE_CHECKING:
    from kernelsite.searches.live import Answer, Ask

log = logging.getLogger(__name__)

REJOIN_S = 60.0
"""The group forgets its members in time, and a broker that was restarted has forgotten them all."""
RETRY_S = 1.0


class Feed:
    """Hands out answers to sockets, and wakes them when the bell rings."""

    def __init__(self, search_id: int) -> None:
        self.search_id = search_id
        self.bells: set[asyncio.Event] = set()
        self.asked: list[tuple[Ask, asyncio.Future[Answer]]] = []
        self.reader: asyncio.Task[None] | None = None
        self.listener: asyncio.Task[None] | None = None

    def attach(self, bell: asyncio.Event) -> None:
        """Set this flag whenever there may be news, from now on."""
        self.bells.add(bell)
        if self.listener is None:
            self.listener = asyncio.create_task(self._listen())

    def detach(self, bell: asyncio.Event) -> None:
        """Forget a flag; after the last one nobody listens."""
        self.bells.discard(bell)
        if not self.bells and self.listener is not None:
            self.listener.cancel()
            self.listener = None

    async def read(self, ask: Ask) -> Answer:
        """The answer of a read that begins after this call; who asks while one is on its way shares the next.

        Raises:
            DatabaseError: the database could not be read.
        """
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.asked.append((ask, future))
        if self.reader is None or self.reader.done():
            self.reader = asyncio.create_task(self._serve())
        return await future

    async def _serve(self) -> None:
        while self.asked:
            asked, self.asked = self.asked, []
            try:
                answers = await live.read(self.search_id, [ask for ask, _ in asked])
            except DatabaseError as error:
                for _, future in asked:
                    if not future.done():
                        future.set_exception(error)
                continue
            for (_, future), answer in zip(asked, answers, strict=True):
                if not future.done():  # its socket may have gone meanwhile
                    future.set_result(answer)

    async def _listen(self) -> None:
        layer = get_channel_layer()
        while layer is not None:
            try:
                channel = await layer.new_channel()
                await layer.group_add(group(self.search_id), channel)
                await self._receive(layer, channel)
            except (RedisError, OSError) as error:  # heartbeats go on: sockets look every few seconds anyway
                log.info("search %s: no bell, %s", self.search_id, error)
                await asyncio.sleep(RETRY_S)

    async def _receive(self, layer: live.Layer, channel: str) -> None:
        """Wake everybody at each message until it is time to join again."""
        try:
            async with asyncio.timeout(REJOIN_S):
                while True:
                    await layer.receive(channel)
                    for bell in self.bells:
                        bell.set()
        except TimeoutError:
            return
        finally:
            await layer.group_discard(group(self.search_id), channel)


_feeds: WeakValueDictionary[int, Feed] = WeakValueDictionary()


def feed_of(search_id: int) -> Feed:
    """The one feed of a search in this process; it lives as long as a socket holds it."""
    feed = _feeds.get(search_id)
    if feed is None:
        feed = _feeds[search_id] = Feed(search_id)
    return feed
