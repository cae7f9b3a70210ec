"""Celery task of the fleet: a device worker says hello at its start and every ten seconds."""

from __future__ import annotations

from typing import Any

from kernelsite.celery import app
from kernelsite.fleet import control
from kernelsite.fleet.models import Device
from search.records import TaskName


@app.task(name=TaskName.HELLO)
def hello(device: dict[str, Any]) -> None:
    """Note that a device lives and what it says of itself."""
    control.settle(Device.objects.hello(device))
