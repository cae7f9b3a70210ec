"""A person's decisions about devices: drain and enable. Its pages are in `kernelsite.searches.pages.workers`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.contrib.auth.models import User
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from kernelsite.accounts import audit
from kernelsite.accounts.roles import Act, asks, may
from kernelsite.fleet import control
from kernelsite.fleet.models import Device, DeviceState

if TYPE_CHECKING:
    from django.http import HttpResponse

    from kernelsite.accounts.middleware import TeamRequest

ACTIONS = {"drain": control.drain, "enable": control.enable}


def may_keep(request: TeamRequest) -> bool:
    """Whether the person may drain and enable devices."""
    return may(request.role, Act.KEEP_DEVICES)


@require_POST
@asks(Act.KEEP_DEVICES)
def act(request: TeamRequest, device_id: int, action: str) -> HttpResponse:
    """Drain or enable one device; doing it twice changes nothing."""
    device = get_object_or_404(Device, pk=device_id)
    decide(request, device, action, request.POST.get("reason", "").strip())
    done = "takes nothing new" if device.state == DeviceState.DRAINING else "takes work again"
    heard = "" if device.node else " Its worker has not said how it can be told: restart it to be sure."
    messages.info(request, f"{device.name} {done}.{heard}")
    return redirect("fleet:worker", device.pk)


def decide(request: TeamRequest, device: Device, action: str, reason: str) -> None:
    """Write it on the audit trail, then do it: the worker is told over the broker, which no transaction holds."""
    audit.record(request, action, device, before={"state": device.state}, reason=reason)
    ACTIONS[action](device, request.user if isinstance(request.user, User) else None, reason)
