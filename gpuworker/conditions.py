"""Under what conditions a time was taken: clocks, temperature and power of a GPU, before and after."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING

from pydantic import JsonValue

from gpuworker.health.gpu import GaugeError
from gpuworker.verdicts import InfrastructureError, RejectedError
from search.records import EvaluationStatus

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuworker.devices.device import Device
    from gpuworker.health.gpu import GpuSample

_TOLERATED = {"power cap"}
"""A dense product on a large GPU reaches it whenever it is fast; both sides of a comparison do."""
_log = logging.getLogger(__name__)


@contextlib.contextmanager
def noted(device: Device, details: dict[str, JsonValue]) -> Iterator[None]:
    """Note the device's state around a measurement.

    Raises:
        RejectedError: UNSTABLE_TIMING, the device slowed itself down.
        InfrastructureError: its memory failed meanwhile, which no candidate can cause.
    """
    samples = [_sample(device)]
    yield
    samples.append(_sample(device))
    seen = [sample for sample in samples if sample]
    if not seen:
        return
    details["sm_clock_mhz"] = [sample.sm_clock_mhz for sample in seen]
    details["temperature_c"] = [sample.temperature_c for sample in seen]
    details["power_w"] = [sample.power_w for sample in seen]
    throttles = {word for sample in seen for word in sample.throttles}
    details["throttles"] = list[JsonValue](sorted(throttles))
    if len({sample.uncorrected_ecc for sample in seen}) > 1:
        raise InfrastructureError("the device's memory had an uncorrected error while a candidate was timed")
    if fatal := throttles - _TOLERATED:
        message = f"the device slowed down while it was timed: {', '.join(sorted(fatal))}"
        raise RejectedError(EvaluationStatus.UNSTABLE_TIMING, message)


def _sample(device: Device) -> GpuSample | None:
    if device.gauge is None:
        return None
    try:
        return device.gauge.sample()
    except GaugeError as error:
        _log.warning("no clocks with this time: %s", error)
        return None
