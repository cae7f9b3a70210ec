"""Reads a GPU through NVML (`nvidia-ml-py`). Only this file knows its names."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from gpuworker.health.gpu import Gauge, GaugeError, GpuProcess, GpuSample

if TYPE_CHECKING:
    from collections.abc import Callable


class NvmlGauge(Gauge):
    """One GPU by its UUID or its number among those NVML sees."""

    def __init__(self, device: str | int, library: Any = None) -> None:
        """Load the library.

        Args:
            device: a UUID (`GPU-…`, as CUDA gives it with or without that prefix), or a number.
            library: stands in for `pynvml` in tests.

        Raises:
            GaugeError: there is no NVML here.
        """
        self._device = device
        if library is None:
            try:
                library = importlib.import_module("pynvml")
            except ImportError as error:
                raise GaugeError("nvidia-ml-py is not installed") from error
        self._nvml = library
        self._open_in = 0
        """Process that started the library: it takes milliseconds, and does not outlive a fork."""

    @override
    def sample(self) -> GpuSample:
        try:
            self._start()
            return self._read(self._handle())
        except self._nvml.NVMLError as error:
            self._open_in = 0
            raise GaugeError(f"NVML: {error}") from error

    def minor_number(self) -> int:
        """Number of its device file, which need not be the number that CUDA gives it.

        Raises:
            GaugeError: the driver does not answer.
        """
        try:
            self._start()
            return int(self._nvml.nvmlDeviceGetMinorNumber(self._handle()))
        except self._nvml.NVMLError as error:
            raise GaugeError(f"NVML: {error}") from error

    def _start(self) -> None:
        if self._open_in != os.getpid():
            self._nvml.nvmlInit()
            self._open_in = os.getpid()

    def _handle(self) -> Any:
        if isinstance(self._device, int):
            return self._nvml.nvmlDeviceGetHandleByIndex(self._device)
        uuid = self._device if self._device.startswith(("GPU-", "MIG-")) else f"GPU-{self._device}"
        return self._nvml.nvmlDeviceGetHandleByUUID(uuid)

    def _read(self, handle: Any) -> GpuSample:
        nvml = self._nvml
        memory = nvml.nvmlDeviceGetMemoryInfo(handle)
        power_mw = self._asked(nvml.nvmlDeviceGetPowerUsage, handle)
        limit_mw = self._asked(nvml.nvmlDeviceGetEnforcedPowerLimit, handle)
        # Corrected rows, uncorrected rows, pending, failed.
        remapped = self._asked(nvml.nvmlDeviceGetRemappedRows, handle)
        slowdown = nvml.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN
        ecc = (nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, nvml.NVML_VOLATILE_ECC)
        return GpuSample(
            uuid=nvml.nvmlDeviceGetUUID(handle),
            name=nvml.nvmlDeviceGetName(handle),
            driver=nvml.nvmlSystemGetDriverVersion(),
            sm_clock_mhz=self._asked(nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_SM),
            most_sm_clock_mhz=self._asked(nvml.nvmlDeviceGetMaxClockInfo, handle, nvml.NVML_CLOCK_SM),
            memory_clock_mhz=self._asked(nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_MEM),
            throttle_bits=self._asked(nvml.nvmlDeviceGetCurrentClocksEventReasons, handle) or 0,
            temperature_c=self._asked(nvml.nvmlDeviceGetTemperature, handle, nvml.NVML_TEMPERATURE_GPU),
            slowdown_c=self._asked(nvml.nvmlDeviceGetTemperatureThreshold, handle, slowdown),
            power_w=None if power_mw is None else power_mw / 1e3,
            power_limit_w=None if limit_mw is None else limit_mw / 1e3,
            memory_used_bytes=memory.used,
            memory_total_bytes=memory.total,
            uncorrected_ecc=self._asked(nvml.nvmlDeviceGetTotalEccErrors, handle, *ecc),
            remap_pending=None if remapped is None else bool(remapped[2]),
            remap_failed=None if remapped is None else bool(remapped[3]),
            processes=self._processes(handle),
        )

    def _processes(self, handle: Any) -> tuple[GpuProcess, ...]:
        found = self._asked(self._nvml.nvmlDeviceGetComputeRunningProcesses, handle) or []
        return tuple(GpuProcess(pid=one.pid, memory_bytes=one.usedGpuMemory) for one in found)

    def _asked(self, question: Callable[..., Any], *arguments: Any) -> Any:
        """The answer, or None where this device does not support the question."""
        try:
            return question(*arguments)
        except self._nvml.NVMLError as error:
            unsupported = (self._nvml.NVML_ERROR_NOT_SUPPORTED, self._nvml.NVML_ERROR_NO_PERMISSION)
            if error.value in unsupported:
                return None
            raise
