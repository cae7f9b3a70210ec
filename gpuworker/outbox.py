"""Messages to the site, sent by name in their order, kept while the broker is away.

Records and starts wait in memory until the broker is back; signs of life that are late are worth nothing.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kombu.exceptions import OperationalError

from search.records import Queue, TaskName

if TYPE_CHECKING:
    from celery import Celery

_MOST_KEPT = 1000
"""Older ones are dropped beyond this; the site asks again for what it misses."""
_BACKOFF_S = (0.1, 5.0)
_RETRY = {"max_retries": 1, "interval_start": 0, "interval_step": 0.1, "interval_max": 0.1}
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Message:
    """One task call for queue `control`."""

    name: TaskName
    arguments: dict[str, Any]
    passing: bool
    """Worth nothing when late."""


class Outbox:
    """A thread that sends."""

    def __init__(self, app: Celery) -> None:
        """Start it."""
        self._app = app
        self._waiting: deque[Message] = deque(maxlen=_MOST_KEPT)
        self._changed = threading.Condition()
        self._away = False
        self._open = True
        self._thread = threading.Thread(target=self._run, name="outbox", daemon=True)
        self._thread.start()

    def put(self, name: TaskName, arguments: dict[str, Any], *, passing: bool = False) -> None:
        """Send soon; a passing message is dropped while the broker is away."""
        with self._changed:
            if passing and self._away:
                return
            self._waiting.append(Message(name, arguments, passing))
            self._changed.notify()

    def close(self, wait_s: float) -> None:
        """Stop, after what waits is sent or this much time."""
        with self._changed:
            self._open = False
            self._changed.notify()
        self._thread.join(wait_s)

    def _run(self) -> None:
        backoff_s = _BACKOFF_S[0]
        while (message := self._next()) is not None:
            if self._send(message):
                backoff_s = _BACKOFF_S[0]
                continue
            self._put_back(message)
            time.sleep(backoff_s)
            backoff_s = min(2 * backoff_s, _BACKOFF_S[1])

    def _next(self) -> Message | None:
        with self._changed:
            while not self._waiting:
                if not self._open:
                    return None
                self._changed.wait()
            return self._waiting.popleft()

    def _put_back(self, message: Message) -> None:
        with self._changed:
            if not message.passing:
                self._waiting.appendleft(message)

    def _send(self, message: Message) -> bool:
        try:
            self._app.send_task(
                message.name,
                kwargs=message.arguments,
                queue=Queue.CONTROL,
                ignore_result=True,
                retry=True,
                retry_policy=_RETRY,
            )
        except (OperationalError, OSError) as error:
            if not self._away:
                _log.warning("the broker is away (%s); %d messages wait", error, len(self._waiting) + 1)
            self._away = True
            return False
        if self._away:
            _log.warning("the broker is back")
        self._away = False
        return True
