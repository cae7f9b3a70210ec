"""Device class of one CUDA GPU: memory that processes share by file descriptor, a lock file as lease."""

from __future__ import annotations

import os
import statistics
import time
from collections import deque
from typing import TYPE_CHECKING, Any

import torch
from typing_extensions import override

from gpuworker.cuda import ceiling, driver
from gpuworker.cuda.device_facts import GhostDevice
from gpuworker.cuda.faults import CudaError
from gpuworker.devices.arena import TensorArena
from gpuworker.devices.device import Attachment, Ceiling, Device, DeviceBudget, DeviceFacts, locked
from gpuworker.dtypes import TORCH_TYPES
from gpuworker.health import host
from gpuworker.health.nvml import NvmlGauge
from gpuworker.verdicts import InfrastructureError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from gpuworker.layout import Layout, Region

_CONTENDER_CORES = 4
_SWEEPS = 3
"""A pass goes over so many times the L2 cache, so that it finds nothing in it."""
_CLEARING = 2
"""Before a pass so many times the L2 cache is written, so that nothing of its slots is left there."""
_REMEMBERED = 201
_LATE = 2.0
"""The device was busy when a word to it takes so many times what it usually does."""
_LONGEST_S = 2.0
"""Whatever still runs then shows in the checks."""
_CASE_SHARE = 1 / 64
_SPECIMEN_SHARE = 1 / 4
_ORACLE_SHARE = 1 / 16


class CudaArena(TensorArena):
    """Device memory seen from the judge."""

    def __init__(self, index: int, layout: Layout) -> None:
        """Allocate.

        Raises:
            InfrastructureError: the device has not that much.
        """
        try:
            inputs = _Shared(index, layout.input_bytes)
            try:
                outputs = _Shared(index, layout.output_bytes)
            except CudaError:
                inputs.close()
                raise
        except CudaError as error:
            raise InfrastructureError(str(error)) from error
        super().__init__(layout, inputs, outputs)


class _Shared:
    """One allocation with the judge's mapping."""

    def __init__(self, index: int, size_bytes: int) -> None:
        try:
            self._mapping, self.fd = driver.allocate(index, size_bytes)
        except CudaError:
            # torch keeps what tensors gave back, and the driver cannot ask for it.
            torch.cuda.empty_cache()
            self._mapping, self.fd = driver.allocate(index, size_bytes)
        self.bytes = _as_tensor(self._mapping.address, max(size_bytes, 1), index)

    def close(self) -> None:
        """Work that still uses it ends first."""
        torch.cuda.synchronize()
        self.bytes = torch.empty(0, dtype=torch.uint8)
        os.close(self.fd)
        self._mapping.close()


class CudaAttachment(Attachment):
    """The same memory seen from a cell: inputs read-only."""

    def __init__(self, index: int, layout: Layout, files: Sequence[int], *, sealed: bool) -> None:
        """Make the device's context in this process, map, and close the files."""
        self._index = index
        driver.open_context(index)
        inputs, outputs = files
        self._inputs = driver.attach(index, inputs, layout.input_bytes, writable=not sealed)
        self._outputs = driver.attach(index, outputs, layout.output_bytes, writable=True)
        os.close(inputs)
        os.close(outputs)

    @override
    def address(self, region: Region, *, output: bool) -> int:
        return (self._outputs if output else self._inputs).address + region.offset

    @override
    def tensor(self, region: Region, *, output: bool) -> torch.Tensor:
        if not region.elements:
            return torch.empty(region.shape, dtype=TORCH_TYPES[region.dtype], device=f"cuda:{self._index}")
        data = _as_tensor(self.address(region, output=output), region.size_bytes, self._index)
        return data.view(TORCH_TYPES[region.dtype]).view(region.shape)

    @override
    def synchronise(self) -> None:
        driver.synchronise()


class _Interface:
    """Memory of ours in the form that torch takes."""

    def __init__(self, address: int, size_bytes: int) -> None:
        self.__cuda_array_interface__: dict[str, Any] = {
            "shape": (size_bytes,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
        }


def _as_tensor(address: int, size_bytes: int, index: int) -> torch.Tensor:
    return torch.as_tensor(_Interface(address, size_bytes), device=f"cuda:{index}")


class CudaDevice(Device):
    """One GPU of this machine."""

    def __init__(
        self, index: int, cores: Sequence[int], sandbox_mode: str, runtime: str, state: Path
    ) -> None:
        """Make this process's context.

        Raises:
            InfrastructureError: there is no such device, or it cannot be used.
            ValueError: a named core is not among those this process may use.
        """
        if index >= torch.cuda.device_count():
            raise InfrastructureError(f"there is no CUDA device {index} here")
        torch.cuda.set_device(index)
        self.index = index
        self.bus = driver.bus_of(index)
        self.tensors = torch.device("cuda", index)
        self._one = torch.zeros(1, device=self.tensors)
        self._usual_s: deque[float] = deque(maxlen=_REMEMBERED)
        self._state = state
        self.contender_cores, self.judge_cores = host.divided(
            cores, _CONTENDER_CORES, index, torch.cuda.device_count()
        )
        found = torch.cuda.get_device_properties(index)
        self.ghost = GhostDevice(
            name=found.name,
            capability=(found.major, found.minor),
            multiprocessors=found.multi_processor_count,
            memory_bytes=found.total_memory,
            shared_bytes=driver.shared_bytes(index),
            cache_bytes=found.L2_cache_size,
        )
        self.uuid = str(found.uuid)
        self.gauge = NvmlGauge(self.uuid)
        every = [torch.cuda.get_device_properties(one).uuid for one in range(torch.cuda.device_count())]
        self.nodes = host.device_files(index, [NvmlGauge(str(one)).minor_number() for one in every])
        self._sweep = torch.zeros(_CLEARING * found.L2_cache_size, dtype=torch.uint8, device=self.tensors)
        self.budget = _budget(self.ghost)
        self.facts = DeviceFacts(
            device_class=found.name.removeprefix("NVIDIA ").lower().replace(" ", "-"),
            name=f"{os.uname().nodename} cuda:{index} {self.uuid[:8]}",
            model=found.name,
            driver=f"nvidia {self.gauge.sample().driver}",
            runtime=f"{runtime}, cuda {torch.version.cuda}",
            sandbox=sandbox_mode,
            cores=",".join(map(str, self.contender_cores)),
            cache_bytes=found.L2_cache_size,
            uuid=self.uuid,
            bus=self.bus,
        )

    @override
    def arena(self, layout: Layout, *, sealed: bool = True) -> CudaArena:
        # Whether inputs are writable is decided where they are mapped.
        return CudaArena(self.index, layout)

    @override
    def ceiling(self) -> Ceiling:
        return ceiling.measure(self.tensors)

    @override
    def clear_caches(self) -> None:
        self._sweep.add_(1)
        torch.cuda.synchronize()

    @override
    def settle(self, *, trusted: bool) -> float:
        # Kernels of two processes take turns, so one of ours waits for those that a contender began and did not
        # wait for, or interrupts them unfinished, which the checks then see.
        took_s = self._word_s()
        if trusted or not self._usual_s:
            self._usual_s.append(took_s)
            return 0.0
        late_s, idle_s = 0.0, _LATE * statistics.median(self._usual_s)
        while took_s > idle_s and late_s < _LONGEST_S:
            late_s += took_s
            took_s = self._word_s()
        return late_s

    def _word_s(self) -> float:
        start = time.perf_counter()
        self._one.add_(1.0)
        torch.cuda.synchronize()
        return time.perf_counter() - start

    @override
    def lease(self, wait_s: float) -> AbstractContextManager[None]:
        return locked(self._state / f"cuda-{self.uuid}.lock", wait_s)


def _budget(ghost: GhostDevice) -> DeviceBudget:
    return DeviceBudget(
        slot_bytes=_SWEEPS * ghost.cache_bytes,
        least_slots=8,
        most_slots=512,
        pass_s=1e-3,
        pairs=10,
        case_bytes=int(ghost.memory_bytes * _CASE_SHARE),
        specimen_bytes=int(ghost.memory_bytes * _SPECIMEN_SHARE),
        oracle_bytes=int(ghost.memory_bytes * _ORACLE_SHARE),
    )
