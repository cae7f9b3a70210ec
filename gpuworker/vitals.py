"""What a worker tells of itself at every hello: what it has in hand, how busy it was, what its device's gauges say."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gpuworker.health.gpu import Gauge, GaugeError
from gpuworker.health.nvml import NvmlGauge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MOST_TOLD = 64
"""Evaluations of a batch that are named."""


class Vitals:
    """Written by the thread that judges, read by the one that says hello."""

    def __init__(self, gauge: Gauge | None, clock: Callable[[], float] = time.monotonic) -> None:
        """Idle from now on.

        Args:
            gauge: the GPU's, None for a CPU.
            clock: seconds.
        """
        self._gauge = gauge
        self._clock = clock
        self._lock = threading.Lock()
        self._in_hand: list[str] = []
        self._busy_s = 0.0
        self._busy_since: float | None = None
        self._told_at = clock()

    @contextmanager
    def judging(self, ids: Sequence[str]) -> Iterator[None]:
        """Busy with these evaluations."""
        with self._lock:
            self._in_hand, self._busy_since = list(ids), self._clock()
        try:
            yield
        finally:
            with self._lock:
                self._busy_s += self._clock() - (self._busy_since or self._clock())
                self._in_hand, self._busy_since = [], None

    def done(self, number: str) -> None:
        """One of them has its answer."""
        with self._lock:
            self._in_hand = [one for one in self._in_hand if one != number]

    def tell(self) -> dict[str, Any]:
        """`now` and `gauges` for a hello; shares are of the time since the hello before."""
        with self._lock:
            now = self._clock()
            busy_s = self._busy_s
            if self._busy_since is not None:
                busy_s += now - self._busy_since
                self._busy_since = now
            span_s, self._told_at, self._busy_s = now - self._told_at, now, 0.0
            in_hand = self._in_hand[:MOST_TOLD]
        gauges: dict[str, float] = {"busy_share": round(min(busy_s / span_s, 1.0), 3)} if span_s > 0 else {}
        return {"now": in_hand, "gauges": gauges | self._read()}

    def _read(self) -> dict[str, float]:
        """The GPU's gauges; a driver that does not answer is the quarantine's matter, not this one's."""
        if self._gauge is None:
            return {}
        try:
            sample = self._gauge.sample()
        except GaugeError:
            return {}
        told = {
            "temperature_c": sample.temperature_c,
            "sm_clock_mhz": sample.sm_clock_mhz,
            "power_w": sample.power_w,
            "memory_used_bytes": sample.memory_used_bytes,
        }
        return {name: value for name, value in told.items() if value is not None}


def vitals_of(uuid: str) -> Vitals:
    """Of the device with this UUID; empty for a CPU."""
    return Vitals(NvmlGauge(uuid) if uuid else None)
