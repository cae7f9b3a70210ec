"""The live socket of a search. The doorbell only says "look": events come from the database, in order."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakSet

from channels.generic.websocket import AsyncJsonWebsocketConsumer
from django.db import DatabaseError
from django.utils import timezone
from redis.exceptions import RedisError

from kernelsite.accounts import bell as doorbell
from kernelsite.searches import live
from kernelsite.searches.feed import feed_of
from kernelsite.searches.limits import limits

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

log = logging.getLogger(__name__)


class SearchConsumer(AsyncJsonWebsocketConsumer):  # type: ignore[misc]  # channels ships no types
    """Sends `hello`, `delta`, `hb`, `resync`, `ctl`; understands `sync`, which a client sends after a gap.

    Bells collapse into one flag, so a slow client costs no memory.
    """

    open_sockets: ClassVar[WeakSet[SearchConsumer]] = WeakSet()
    pump: asyncio.Task[None] | None = None
    sent, synced_at = 0, 0.0

    async def connect(self) -> None:
        """Refuse before accepting; then say where the log stands and start to pump."""
        self.feed = feed_of(self.scope["url_route"]["kwargs"]["search_id"])
        self.watcher = live.watcher_of(self.scope)
        state = await self._standing()
        if state is None:
            await self.close(code=4403)
            return
        self.bell = asyncio.Event()
        self.feed.attach(self.bell)
        # Not awaited: a socket opens although the broker does not answer.
        self.joining = asyncio.create_task(self._hear(self.channel_layer.group_add))
        await self.accept()
        self.open_sockets.add(self)
        await self._frame("hello", v=1, epoch=state.epoch, seq=state.seq, hb=limits().heartbeat_s)
        await self._place(live.query_of(self.scope), state)
        self.pump = asyncio.create_task(self._pump())

    async def disconnect(self, code: int) -> None:
        """Let pump and bell go; correctness does not depend on this running."""
        if self.pump is not None:
            self.pump.cancel()
            self.feed.detach(self.bell)
            self.joining.cancel()
            await self._hear(self.channel_layer.group_discard)

    async def user_changed(self, _: dict[str, Any]) -> None:
        """Log-out, removal or another role: look at once whether this person may still watch."""
        self.bell.set()

    async def _hear(self, change: Callable[[str, str], Awaitable[None]]) -> None:
        """Join or leave the group of the person; without it the next heartbeat does what a bell would have."""
        try:
            async with asyncio.timeout(live.LAYER_S):
                await change(doorbell.group(self.watcher.user_id or 0), self.channel_name)
        except (RedisError, OSError, TimeoutError) as error:
            log.info("user %s: no bell, %s", self.watcher.user_id, error)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None, **_: Any) -> None:
        """Take `sync`, at most one a second; anything else is ignored."""
        wish = live.sync_of(text_data or "")
        if wish is not None and time.monotonic() - self.synced_at > live.SYNC_GAP_S:
            self.synced_at = time.monotonic()
            if (state := await self._standing()) is not None:
                await self._place(wish, state)

    async def _standing(self) -> live.Standing | None:
        return (await self.feed.read(live.Ask(self.watcher, None))).state

    async def _place(self, wish: dict[str, Any], state: live.Standing) -> None:
        self.sent, reason = live.place(wish, state)
        if reason:
            await self._frame("resync", reason=reason)
        self.bell.set()

    async def _pump(self) -> None:
        try:
            while await self._pull():
                await asyncio.sleep(live.ECHO_S)
                if not await self._pull():  # a neighbour's bell may have been lost: look twice
                    return
                await asyncio.sleep(live.frame_gap_s(len(self.open_sockets)))
                await self._wait()
        except DatabaseError:  # the client comes back, perhaps to another process
            await self.close(code=1011)

    async def _wait(self) -> None:
        try:
            await asyncio.wait_for(self.bell.wait(), limits().heartbeat_s)
        except TimeoutError:
            await self._frame("hb", seq=self.sent)

    async def _pull(self) -> bool:
        """Send what the client lacks; False when there is nothing more to send, ever."""
        self.bell.clear()
        answer = await self.feed.read(live.Ask(self.watcher, self.sent))
        state = answer.state
        if answer.frame:
            self.sent = answer.to
            await self.send(text_data=answer.frame)
        if state is not None and not (state.final and self.sent >= state.seq):
            if self.sent < state.seq:
                self.bell.set()
            return True
        await self._frame("ctl", action="revoked" if state is None else "finished", close=True)
        await self.close(code=4403 if state is None else 1000)
        return False

    async def _frame(self, kind: str, **content: Any) -> None:
        await self.send_json({"t": kind, "server_time": timezone.now().isoformat(), **content})
