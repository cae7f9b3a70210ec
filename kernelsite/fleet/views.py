"""Page of device workers: who is there, what it is, when it was last heard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.shortcuts import render
from django.views.decorators.http import require_GET

from kernelsite.fleet.models import Device

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse


@require_GET
def workers(request: HttpRequest) -> HttpResponse:
    """Every device that ever said hello, those online first."""
    devices = sorted(
        Device.objects.all(), key=lambda device: (not device.is_online, device.device_class, device.name)
    )
    context = {
        "devices": devices,
        "online_count": sum(device.is_online for device in devices),
        "has_unsandboxed": any(device.is_online and "unsandboxed" in device.sandbox for device in devices),
    }
    return render(request, "fleet/workers.html", context)
