"""Lease lengths and counts of the driver; `settings.KERNELSITE` overrides them, tests use 2 s leases."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings


@dataclass(frozen=True)
class Limits:
    """Everything that bounds a wait. Seconds, where a name ends in `_s`."""

    driver_lease_s: float = 30.0
    evaluation_lease_s: float = 45.0
    """From `started`; every `alive` renews it."""
    agent_lease_s: float = 600.0
    room_s: float = 120.0
    """Longest wait of a model call for room at its endpoint; after it the search waits without holding a process."""
    room_poll_s: float = 0.25
    resend_after_s: float = 20.0
    """A message given to the broker is not looked for before this."""
    sweep_interval_s: float = 15.0
    slice_s: float = 60.0
    """Longest stretch of work of one `advance` message."""
    attempts: int = 5
    """Lost or infrastructure-failed attempts of one evaluation, or calls of one draft, before it is given up."""
    evaluation_deadline_s: float = 120.0
    snapshot_events: int = 200
    frame_gap_s: float = 0.1
    heartbeat_s: float = 15.0


def limits() -> Limits:
    """Limits of this installation."""
    return Limits(**getattr(settings, "KERNELSITE", {}))


def seconds(value: float) -> timedelta:
    """A length of time."""
    return timedelta(seconds=value)
