"""Gauges of a device: which there are, their units, and what of a message is believable."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Gauge:
    """One number that a device can tell of itself."""

    name: str
    """Key of the message and column of `Sample`."""
    title: str
    unit: str
    low: float
    high: float
    """Beyond these a reading is a fault of the gauge."""
    scale: float = 1.0
    """From the column to the unit."""


GAUGES: dict[str, Gauge] = {
    gauge.name: gauge
    for gauge in (
        Gauge("busy_share", "Utilisation", "%", 0.0, 1.0, 100.0),
        Gauge("temperature_c", "Temperature", "°C", -50.0, 200.0),
        Gauge("sm_clock_mhz", "Clock", "MHz", 0.0, 20_000.0),
        Gauge("power_w", "Power", "W", 0.0, 10_000.0),
        Gauge("memory_used_bytes", "Memory in use", "GiB", 0.0, 1e15, 1 / (1 << 30)),
    )
}


def readings(document: object) -> dict[str, float]:
    """Believable numbers of a message by gauge; everything else is passed over."""
    if not isinstance(document, dict):
        return {}
    found = {}
    for gauge in GAUGES.values():
        value = document.get(gauge.name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if math.isfinite(value) and gauge.low <= value <= gauge.high:
            found[gauge.name] = float(value)
    return found
