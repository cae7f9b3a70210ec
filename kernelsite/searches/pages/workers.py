"""Pages of device workers: who is there, what each does now, what its gauges said, and how its class gets on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_GET

from kernelsite.fleet.gauges import GAUGES, Gauge
from kernelsite.fleet.models import SAMPLES_KEPT, Device, DeviceState, Sample
from kernelsite.fleet.views import may_keep
from kernelsite.searches.class_figures import ALARM, ClassFigures, class_figures
from kernelsite.searches.models import Evaluation

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from django.http import HttpResponse

    from kernelsite.accounts.middleware import TeamRequest

WIDTH, HEIGHT = 120, 26
IN_LIST = ("busy_share", "temperature_c", "sm_clock_mhz")
RECENT = 12


@dataclass(frozen=True)
class Trace:
    """One gauge over the last hour, for a small picture."""

    gauge: Gauge
    points: str
    """Of an SVG polyline, newest at the right."""
    last: float
    low: float
    high: float


@dataclass(frozen=True)
class Job:
    """An evaluation in a device's hands; without a key it belongs to another team."""

    key: str
    title: str
    began: datetime | None


@dataclass(frozen=True)
class Row:
    """A device as the list shows it."""

    device: Device
    traces: dict[str, Trace]
    jobs: list[Job]


@require_GET
def workers(request: TeamRequest) -> HttpResponse:
    """Every device that ever said hello, those online first; queues by class."""
    devices = sorted(
        Device.objects.all(), key=lambda device: (not device.is_heard, device.device_class, device.name)
    )
    figures = class_figures()
    for device in devices:
        figures.setdefault(device.device_class, ClassFigures(device.device_class))
    context = {
        "rows": _rows(request, devices),
        "gauges": [GAUGES[name] for name in IN_LIST],
        "classes": sorted(figures.values(), key=lambda each: each.name),
        "alarm": ALARM,
        "online_count": sum(device.is_online for device in devices),
        "has_unsandboxed": any(device.is_online and "unsandboxed" in device.sandbox for device in devices),
    }
    return render(request, "fleet/workers.html", context)


@require_GET
def worker(request: TeamRequest, device_id: int) -> HttpResponse:
    """One device: gauges, what it does, its class's last evaluations of the team, drain and enable."""
    device = get_object_or_404(Device.objects.select_related("changed_by"), pk=device_id)
    recent = (
        Evaluation.objects.filter(search__team=request.team, search__device_class=device.device_class)
        .filter(started_at__isnull=False)
        .select_related("candidate__structure", "search")
        .defer("result")
        .order_by("-id")[:RECENT]
    )
    context = {
        "device": device,
        "row": _rows(request, [device])[0],
        "figures": class_figures().get(device.device_class, ClassFigures(device.device_class)),
        "alarm": ALARM,
        "recent": recent,
        "may_keep": may_keep(request),
        "is_draining": device.state == DeviceState.DRAINING,
    }
    return render(request, "fleet/worker.html", context)


def _rows(request: TeamRequest, devices: Sequence[Device]) -> list[Row]:
    since = timezone.now() - SAMPLES_KEPT
    samples: dict[int, list[Sample]] = {device.pk: [] for device in devices}
    for sample in Sample.objects.filter(device__in=devices, at__gt=since).order_by("at"):
        samples[sample.device_id].append(sample)
    numbers = [number for device in devices if device.is_heard for number in device.in_hand]
    jobs = {
        row.pk: row
        for row in Evaluation.objects.filter(pk__in=numbers)
        .select_related("candidate__structure", "search")
        .defer("result")
    }
    return [
        Row(device, traces(samples[device.pk], since), _jobs(request, device, jobs)) for device in devices
    ]


def _jobs(request: TeamRequest, device: Device, rows: dict[int, Evaluation]) -> list[Job]:
    known = [rows[number] for number in device.in_hand if number in rows] if device.is_heard else []
    own = request.team.pk if request.team else None
    return [
        Job(row.key, row.search.short, row.started_at)
        if row.search.team_id == own
        else Job("", "of another team", row.started_at)
        for row in known
    ]


def traces(samples: Iterable[Sample], since: datetime) -> dict[str, Trace]:
    """Pictures by gauge; gauges that the device never told are left out."""
    rows = list(samples)
    found = {}
    for gauge in GAUGES.values():
        told = [(row.at, getattr(row, gauge.name) * gauge.scale) for row in rows if _told(row, gauge)]
        if told:
            values = [value for _, value in told]
            points = _points(told, since, gauge)
            found[gauge.name] = Trace(gauge, points, values[-1], min(values), max(values))
    return found


def _told(row: Sample, gauge: Gauge) -> bool:
    return getattr(row, gauge.name) is not None


def _points(told: Sequence[tuple[datetime, float]], since: datetime, gauge: Gauge) -> str:
    """The last hour from left to right; the gauge's own range from bottom to top, a share always from 0 to 100 %."""
    values = [value for _, value in told]
    is_share = gauge.unit == "%"
    low, high = (0.0, 100.0) if is_share else (min(values), max(values))
    room = (high - low) or 1.0
    corners = []
    for at, value in told:
        x = WIDTH * (at - since).total_seconds() / SAMPLES_KEPT.total_seconds()
        y = HEIGHT - HEIGHT * (value - low) / room if high > low else HEIGHT / 2
        corners.append(f"{x:.1f},{y:.1f}")
    return " ".join(corners)
