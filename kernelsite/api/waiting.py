"""A long poll: waits for the next event of a search beside the sockets that watch it."""

from __future__ import annotations

import asyncio
import time
from threading import BoundedSemaphore

from asgiref.sync import async_to_sync
from channels.db import database_sync_to_async

from kernelsite.searches.feed import feed_of
from kernelsite.searches.models import Search
from kernelsite.searches.models.search import FINAL

LONGEST_S = 25
LOOK_S = 5.0
"""A bell may be lost, so the row is looked at this often."""
WAITERS = 100
"""Requests that one process lets wait at a time; each holds a thread, others are answered at once."""

_room = BoundedSemaphore(WAITERS)


def wait_for_event(search_id: int, after: int, wait_s: float) -> None:
    """Return when the search has an event after a number, is over, or the time is."""
    if wait_s > 0 and _room.acquire(blocking=False):
        try:
            async_to_sync(_wait)(search_id, after, min(wait_s, LONGEST_S))
        finally:
            _room.release()


async def _wait(search_id: int, after: int, wait_s: float) -> None:
    """Listens before it looks, so that no bell is missed between the two."""
    deadline = time.monotonic() + wait_s
    feed, bell = feed_of(search_id), asyncio.Event()
    feed.attach(bell)
    try:
        while not await database_sync_to_async(_has_news)(search_id, after):
            left = deadline - time.monotonic()
            if left <= 0:
                return
            try:
                await asyncio.wait_for(bell.wait(), min(left, LOOK_S))
            except TimeoutError:
                continue
            bell.clear()
    finally:
        feed.detach(bell)


def _has_news(search_id: int, after: int) -> bool:
    row = Search.objects.filter(pk=search_id).values_list("event_seq", "state").first()
    return row is None or row[0] > after or row[1] in FINAL
