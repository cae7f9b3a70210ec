"""Calls in flight and calls per minute, counted per key over all searches of one process."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from search.agents.llm.endpoint import Endpoint

MINUTE_S = 60.0


class NoTurn(Exception):
    """The key is busy for longer than the caller can wait.

    Attributes:
        retry_after_s: Until the key is free, as far as is known.
    """

    def __init__(self, message: str, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


@dataclass
class _Key:
    """State of one key."""

    free: threading.Condition = field(default_factory=threading.Condition)
    in_flight: int = 0
    started: deque[float] = field(default_factory=deque)
    """Moments of the calls of the last minute."""
    blocked_until: float = 0.0


class KeyLimits:
    """Gives turns. One instance is shared by all callers of a process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, window_s: float = MINUTE_S) -> None:
        self._clock = clock
        self._window_s = window_s
        self._lock = threading.Lock()
        self._keys: dict[str, _Key] = {}

    @contextmanager
    def turn(self, endpoint: Endpoint, longest_wait_s: float) -> Iterator[None]:
        """Wait until the key may be used, and hold one of its calls in flight.

        Raises:
            NoTurn: it would take longer than `longest_wait_s`.
        """
        key = self._key(endpoint)
        self._enter(key, endpoint, self._clock() + longest_wait_s)
        try:
            yield
        finally:
            with key.free:
                key.in_flight -= 1
                key.free.notify()

    def block(self, endpoint: Endpoint, seconds: float) -> None:
        """The server asked for a pause: no search uses the key before it is over."""
        key = self._key(endpoint)
        with key.free:
            key.blocked_until = max(key.blocked_until, self._clock() + seconds)

    def _enter(self, key: _Key, endpoint: Endpoint, deadline: float) -> None:
        with key.free:
            while (pause := self._pause(key, endpoint)) is not None:
                left = deadline - self._clock()
                if left <= 0 or pause > left:
                    raise NoTurn(f"{endpoint.name} is used up to its limits", max(pause, 0.0))
                # A call in flight ends at no known moment: it notifies.
                key.free.wait(min(left, pause or left))
            key.in_flight += 1
            key.started.append(self._clock())

    def _pause(self, key: _Key, endpoint: Endpoint) -> float | None:
        """Seconds until another call may start; 0: when one ends; None: now."""
        now = self._clock()
        while key.started and key.started[0] <= now - self._window_s:
            key.started.popleft()
        if key.blocked_until > now:
            return key.blocked_until - now
        rate = endpoint.requests_per_minute
        if rate is not None and len(key.started) >= rate:
            return key.started[len(key.started) - rate] + self._window_s - now
        return 0.0 if key.in_flight >= endpoint.concurrency else None

    def _key(self, endpoint: Endpoint) -> _Key:
        secret = endpoint.api_key.get_secret_value()
        name = hashlib.sha256(f"{endpoint.host} {secret}".encode()).hexdigest()
        with self._lock:
            return self._keys.setdefault(name, _Key())
