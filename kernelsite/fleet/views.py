"""A person's decisions about devices: drain and enable. Its pages are in `kernelsite.searches.pages.workers`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from kernelsite.accounts.models import Membership, Role
from kernelsite.fleet import control
from kernelsite.fleet.models import Device, DeviceState

if TYPE_CHECKING:
    from django.http import HttpResponse

    from kernelsite.accounts.middleware import TeamRequest

KEEPERS = (Role.MAINTAINER, Role.ADMIN)
ACTIONS = {"drain": control.drain, "enable": control.enable}


def may_keep(request: TeamRequest) -> bool:
    """Whether the person may drain and enable devices."""
    if not isinstance(request.user, User):
        return False
    return Membership.objects.filter(team=request.team, user=request.user, role__in=KEEPERS).exists()


@require_POST
def act(request: TeamRequest, device_id: int, action: str) -> HttpResponse:
    """Drain or enable one device; doing it twice changes nothing.

    Raises:
        PermissionDenied: the person is no maintainer.
    """
    if not may_keep(request):
        raise PermissionDenied
    device = get_object_or_404(Device, pk=device_id)
    user = request.user if isinstance(request.user, User) else None
    ACTIONS[action](device, user, request.POST.get("reason", "").strip())
    done = "takes nothing new" if device.state == DeviceState.DRAINING else "takes work again"
    heard = "" if device.node else " Its worker has not said how it can be told: restart it to be sure."
    messages.info(request, f"{device.name} {done}.{heard}")
    return redirect("fleet:worker", device.pk)
