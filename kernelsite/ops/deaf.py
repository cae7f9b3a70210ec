"""Notices workers that live but take nothing: the message at the head of their queue does not move.

Celery workers have gone deaf after their broker came back; a supervisor that only looks at processes sees nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import redis

from search.records import Queue

if TYPE_CHECKING:
    from collections.abc import Mapping

PATIENCE_S: Mapping[str, float] = {Queue.CONTROL: 120.0, Queue.AGENT: 700.0}
"""More than the hard time limit of a queue's tasks, so that a worker that is only busy is left alone."""


@dataclass
class Listener:
    """Watches queues over time; the clock is the caller's."""

    url: str
    patience_s: Mapping[str, float] = field(default_factory=lambda: PATIENCE_S)
    _heads: dict[str, tuple[str, float]] = field(default_factory=dict)

    def deaf(self, now_s: float) -> list[str]:
        """Queues whose head has not moved for too long; each is named once, then given time again."""
        try:
            heads = self._read()
        except (redis.RedisError, OSError):
            self._heads.clear()
            return []
        found = []
        for queue, head in heads.items():
            seen, since_s = self._heads.get(queue, ("", now_s))
            if not head or head != seen:
                self._heads[queue] = (head, now_s)
            elif now_s - since_s > self.patience_s[queue]:
                self._heads[queue] = ("", now_s)
                found.append(queue)
        return found

    def _read(self) -> dict[str, str]:
        """Id of the next message of each queue; empty for an empty queue."""
        with redis.Redis.from_url(self.url, socket_timeout=1, socket_connect_timeout=1, retry=None) as client:
            # Workers take from the right.
            return {queue: _message_id(client.lindex(queue, -1)) for queue in self.patience_s}


def _message_id(message: object) -> str:
    return str(json.loads(message)["headers"]["id"]) if isinstance(message, bytes) else ""
