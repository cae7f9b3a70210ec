"""Tells maintainers of a device that went silent or shut itself out, once per silence."""

from __future__ import annotations

from datetime import timedelta
from hashlib import sha256

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from kernelsite.accounts.models import Role, Team
from kernelsite.fleet.models import Device, DeviceState
from kernelsite.notices.models import Event
from kernelsite.notices.notify import notify

SILENCE = timedelta(seconds=90)
FORGOTTEN = timedelta(minutes=15)
"""A device that is silent for longer was so before anybody looked: the whole site was down, or it left for good."""


def tell_silent() -> int:
    """Look once; how many devices are in trouble. Devices serve all teams, so each team's maintainers are told."""
    now = timezone.now()
    silence = max(SILENCE, timedelta(seconds=3 * settings.DEVICE_SILENCE_S))
    silent = Q(last_seen_at__lt=now - silence, last_seen_at__gt=now - silence - FORGOTTEN)
    shut = ~Q(quarantine="") & Q(last_seen_at__gt=now - silence)
    troubled = list(Device.objects.filter(silent | shut, state=DeviceState.OK))
    for device in troubled:
        for team in Team.objects.all():
            _tell(team, device)
    return len(troubled)


def _tell(team: Team, device: Device) -> None:
    if device.quarantine:
        why = f"It shut itself out: {device.quarantine}"
        key = f"device-{device.pk}-out-{sha256(device.quarantine.encode()).hexdigest()[:12]}"
    else:
        why = f"Last heard of at {device.last_seen_at:%Y-%m-%d %H:%M:%S} UTC."
        key = f"device-{device.pk}-silent-{int(device.last_seen_at.timestamp())}"
    title = f"Device {device} is {'shut out' if device.quarantine else 'silent'}"
    notify(
        team, Event.DEVICE_DOWN, title, text=why, link=f"/workers/{device.pk}/", key=key, to=Role.MAINTAINER
    )
