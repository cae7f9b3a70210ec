"""A person's word to a device worker: take no more work, or take work again. It is repeated until the worker obeys."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from django.utils import timezone
from kombu.exceptions import OperationalError

from kernelsite.celery import app
from kernelsite.fleet.models import WORD_LIMIT, Device, DeviceState
from search.records import device_queue

if TYPE_CHECKING:
    from django.contrib.auth.models import User

log = logging.getLogger(__name__)


def drain(device: Device, user: User | None, reason: str) -> None:
    """Give it nothing new; what it judges may finish."""
    _change(device, DeviceState.DRAINING, user, reason)


def enable(device: Device, user: User | None, reason: str) -> None:
    """Give it work again."""
    _change(device, DeviceState.OK, user, reason)


def _change(device: Device, state: DeviceState, user: User | None, reason: str) -> None:
    device.state, device.changed_by, device.changed_at = state, user, timezone.now()
    device.reason = reason[:WORD_LIMIT]
    device.save(update_fields=["state", "changed_by", "changed_at", "reason"])
    tell(device)


def settle(device: Device) -> None:
    """Called at every hello: tell a worker that does not do what was decided about it, since a message may get lost."""
    wanted = device.state == DeviceState.OK
    if device.takes_work is not None and device.takes_work != wanted and not device.quarantine:
        tell(device)


def tell(device: Device) -> None:
    """Send the decision to the worker, if it has said by which name it hears."""
    if not device.node:
        return
    act = app.control.add_consumer if device.state == DeviceState.OK else app.control.cancel_consumer
    try:
        act(device_queue(device.device_class), destination=[device.node])
    except (OperationalError, OSError) as error:
        log.warning("%s was not told that it is %s: %s", device, device.state, error)
