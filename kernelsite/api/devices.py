"""Devices of the site: what workers say of them, drain and enable."""

from __future__ import annotations

from typing import Any, Literal

from django.shortcuts import get_object_or_404
from ninja import Router

from kernelsite.accounts.models import Scope
from kernelsite.accounts.roles import Act
from kernelsite.api import records
from kernelsite.api.auth import demand_act, demand_scope
from kernelsite.api.schemas import DecisionBody
from kernelsite.fleet.models import Device
from kernelsite.fleet.views import decide

COLUMNS = (
    "id", "name", "device_class", "model", "driver", "runtime", "sandbox", "in_hand", "quarantine", "reason",
    "last_seen_at",
)  # fmt: skip

router = Router(tags=["devices"])


@router.get("/devices", response=list[records.DeviceAnswer], url_name="devices")
def devices(request: Any) -> list[dict[str, Any]]:
    """All devices of the site; `state` is the word that pages show."""
    demand_scope(request, Scope.READ)
    return [_device(row) for row in Device.objects.all()]


@router.get("/devices/{int:device_id}", response=records.DeviceAnswer, url_name="device")
def device(request: Any, device_id: int) -> dict[str, Any]:
    """One device."""
    demand_scope(request, Scope.READ)
    return _device(get_object_or_404(Device, pk=device_id))


def _device(row: Device) -> dict[str, Any]:
    return {name: getattr(row, name) for name in COLUMNS} | {"state": row.word}


@router.post("/devices/{int:device_id}/{action}", response=records.DeviceAnswer, url_name="decide")
def decide_device(
    request: Any, device_id: int, action: Literal["drain", "enable"], body: DecisionBody
) -> dict[str, Any]:
    """Drain or enable a device."""
    demand_act(request, Act.KEEP_DEVICES)
    row = get_object_or_404(Device, pk=device_id)
    decide(request, row, action, body.reason)
    return _device(row)
