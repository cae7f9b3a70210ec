"""A GPU's state as a record, and what is wrong with it; pure but for the waiting, which takes its clock."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Protocol

from pydantic import Field

from gpuworker.health.finding import Finding
from search.records import Record

if TYPE_CHECKING:
    from collections.abc import Callable

Bytes = Annotated[int, Field(ge=0)]

THROTTLES: dict[int, str] = {
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x20: "thermal slowdown by software",
    0x40: "thermal slowdown by hardware",
    0x80: "power brake",
}
"""Bits of NVML's clocks event reasons that make a time worthless. Idle, application clocks, sync boost and display
clocks are how an owner set the device up."""
_SPARE_C = 3
"""A device so close to its slowdown temperature is about to throttle."""
_SLACK_BYTES = 256 << 20
"""The judge's own allocator may keep so much; a context that was left behind takes more."""
_POLL_S = 0.05
_SHOWN = 10


class GpuProcess(Record):
    """A process with a context on the device."""

    pid: int
    memory_bytes: Bytes | None = None
    """None where the driver does not say, as in a container."""


class GpuSample(Record):
    """What NVML says at one moment; None where the device does not support a question."""

    uuid: str
    name: str
    driver: str
    sm_clock_mhz: int | None = None
    most_sm_clock_mhz: int | None = None
    memory_clock_mhz: int | None = None
    throttle_bits: int = 0
    temperature_c: int | None = None
    slowdown_c: int | None = None
    """The device throttles from this temperature on."""
    power_w: float | None = None
    power_limit_w: float | None = None
    memory_used_bytes: Bytes
    memory_total_bytes: Bytes
    uncorrected_ecc: int | None = None
    """Since the driver was loaded."""
    remap_pending: bool | None = None
    """A faulty memory row waits for a reset to be replaced."""
    remap_failed: bool | None = None
    processes: tuple[GpuProcess, ...] = ()

    @property
    def throttles(self) -> tuple[str, ...]:
        """Reasons why it is slower than it could be, in words."""
        return tuple(word for bit, word in THROTTLES.items() if self.throttle_bits & bit)


class Gauge(Protocol):
    """The edge to a GPU; tests have their own."""

    def sample(self) -> GpuSample:
        """The state now.

        Raises:
            GaugeError: the driver does not answer.
        """
        ...


class GaugeError(Exception):
    """The driver's library is missing, or lost the device."""


class Neighbours(Record):
    """Processes of this machine as far as they can be seen from here."""

    ours: frozenset[int] = frozenset()
    """Workers' own processes."""
    visible: frozenset[int] = frozenset()
    """Every process."""
    holders: int = 0
    """How many of ours hold the device open; in a container the driver knows them by other numbers."""


def examine(sample: GpuSample, neighbours: Neighbours) -> list[Finding]:
    """Findings about one sample, which should be taken while no candidate runs."""
    return [_clocks(sample), _temperature(sample), _memory_cells(sample), _foreign(sample, neighbours)]


def _clocks(sample: GpuSample) -> Finding:
    power = f", {sample.power_w:.0f} of {sample.power_limit_w:.0f} W" if _known_power(sample) else ""
    clocks = f"SM clock {sample.sm_clock_mhz} of {sample.most_sm_clock_mhz} MHz{power}"
    if sample.throttles:
        return _finding("throttling", f"{', '.join(sample.throttles)}; {clocks}", fine=False)
    return _finding("throttling", f"none; {clocks}", fine=True)


def _known_power(sample: GpuSample) -> bool:
    return sample.power_w is not None and sample.power_limit_w is not None


def _temperature(sample: GpuSample) -> Finding:
    if sample.temperature_c is None:
        return _finding("temperature", "the device does not say", fine=True)
    if sample.slowdown_c is None:
        return _finding("temperature", f"{sample.temperature_c} °C", fine=True)
    fine = sample.temperature_c < sample.slowdown_c - _SPARE_C
    text = f"{sample.temperature_c} °C, slows down at {sample.slowdown_c} °C"
    return _finding("temperature", text, fine=fine)


def _memory_cells(sample: GpuSample) -> Finding:
    wrong = []
    if sample.uncorrected_ecc:
        wrong.append(f"{sample.uncorrected_ecc} uncorrected errors since the driver was loaded")
    if sample.remap_pending:
        wrong.append("a row waits for a reset to be replaced")
    if sample.remap_failed:
        wrong.append("a row could not be replaced")
    if wrong:
        return _finding("device memory", "; ".join(wrong), fine=False)
    text = "no ECC on this device" if sample.uncorrected_ecc is None else "no uncorrected errors"
    return _finding("device memory", text, fine=True)


def _foreign(sample: GpuSample, neighbours: Neighbours) -> Finding:
    strangers = [one.pid for one in sample.processes if one.pid in neighbours.visible - neighbours.ours]
    unseen = [one.pid for one in sample.processes if one.pid not in neighbours.visible]
    if len(unseen) > neighbours.holders:
        strangers += unseen
    if strangers:
        pids = ", ".join(map(str, strangers[:_SHOWN]))
        return _finding("foreign processes", f"{len(strangers)} on the device: {pids}", fine=False)
    return _finding("foreign processes", "none", fine=True)


def await_memory(
    gauge: Gauge, baseline_bytes: int, wait_s: float, sleep: Callable[[float], None] = time.sleep
) -> Finding:
    """Whether memory in use falls back to a level, as it must after a candidate was killed.

    Args:
        gauge: the device.
        baseline_bytes: in use before the candidate started.
        wait_s: how long the driver may take.
        sleep: waits so many seconds.

    Raises:
        GaugeError: the driver does not answer.
    """
    used = 0
    for _ in range(max(1, round(wait_s / _POLL_S))):
        used = gauge.sample().memory_used_bytes
        if used <= baseline_bytes + _SLACK_BYTES:
            return _finding("memory after a kill", f"{_mib(used)} in use, as before", fine=True)
        sleep(_POLL_S)
    text = f"{_mib(used)} in use {wait_s:g} s later, {_mib(baseline_bytes)} before"
    return _finding("memory after a kill", text, fine=False)


def _mib(size_bytes: int) -> str:
    return f"{size_bytes / (1 << 20):.0f} MiB"


def _finding(name: str, text: str, *, fine: bool) -> Finding:
    return Finding(name=name, fine=fine, text=text, section="health")
