"""Device class `cpu`: memfds as buffers, pinned cores, a lock file as lease.

Inputs are sealed with F_SEAL_FUTURE_WRITE after the judge has its own mapping, so nobody else can map or write them.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from typing_extensions import override

from gpuworker import floor, linux
from gpuworker.devices.arena import TensorArena
from gpuworker.devices.device import Attachment, Ceiling, Device, DeviceBudget, DeviceFacts, locked
from gpuworker.dtypes import TORCH_TYPES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from gpuworker.layout import Layout, Region

_MEMORY_BYTES = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_FUTURE_WRITE = 1, 2, 4, 16


class CpuArena(TensorArena):
    """memfds seen from the judge."""

    def __init__(self, layout: Layout, *, sealed: bool) -> None:
        """Allocate; pages cost nothing until they are touched."""
        inputs, outputs = _Shared("inputs", layout.input_bytes), _Shared("outputs", layout.output_bytes)
        if sealed:
            inputs.seal(F_SEAL_FUTURE_WRITE)
        # Neither side may shrink a file under the other's mapping, which would be a SIGBUS.
        for shared in (inputs, outputs):
            shared.seal(F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
        super().__init__(layout, inputs, outputs)


class _Shared:
    """One memfd with the judge's mapping."""

    def __init__(self, name: str, size_bytes: int) -> None:
        self.fd = os.memfd_create(name, os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
        os.ftruncate(self.fd, max(size_bytes, mmap.PAGESIZE))
        self._map = mmap.mmap(self.fd, max(size_bytes, mmap.PAGESIZE))
        self.bytes = torch.frombuffer(self._map, dtype=torch.uint8)

    def seal(self, seals: int) -> None:
        fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, seals)

    def close(self) -> None:
        """The mapping itself goes with its last view."""
        os.close(self.fd)


class CpuAttachment(Attachment):
    """memfds seen from a contender: inputs read-only."""

    def __init__(self, layout: Layout, files: Sequence[int], *, sealed: bool) -> None:
        """Map and close the files: without them nothing can be mapped anew."""
        inputs, outputs = files
        self._inputs = linux.map_shared(inputs, max(layout.input_bytes, mmap.PAGESIZE), writable=not sealed)
        self._outputs = linux.map_shared(outputs, max(layout.output_bytes, mmap.PAGESIZE), writable=True)
        os.close(inputs)
        os.close(outputs)

    @override
    def address(self, region: Region, *, output: bool) -> int:
        return (self._outputs if output else self._inputs) + region.offset

    @override
    def tensor(self, region: Region, *, output: bool) -> torch.Tensor:
        memory = (ctypes.c_char * max(region.size_bytes, 1)).from_address(self.address(region, output=output))
        if not region.elements:
            return torch.empty(region.shape, dtype=TORCH_TYPES[region.dtype])
        flat = torch.frombuffer(memory, dtype=TORCH_TYPES[region.dtype], count=region.elements)
        return flat.view(region.shape)

    @override
    def synchronise(self) -> None:
        # A C++ kernel that returned has joined its threads; whatever it left running is frozen, and missed.
        return


class CpuDevice(Device):
    """The cores of this machine: the last one for candidates unless told, the rest for everything else."""

    budget = DeviceBudget(
        slot_bytes=64 << 20,
        least_slots=2,
        most_slots=256,
        pass_s=4e-3,
        pairs=5,
        case_bytes=256 << 20,
        specimen_bytes=min(512 << 20, int(_MEMORY_BYTES / 24)),
        oracle_bytes=64 << 20,
    )
    index = -1
    bus = ""
    nodes: tuple[str, ...] = ()
    ghost = None
    gauge = None
    tensors = torch.device("cpu")

    def __init__(self, cores: Sequence[int], sandbox_mode: str, runtime: str, state: Path) -> None:
        """Fix the division of cores.

        Raises:
            ValueError: a named core is not among those this process may use.
        """
        usable = sorted(os.sched_getaffinity(0))
        chosen = tuple(cores) or (usable[-1],)
        if missing := set(chosen) - set(usable):
            raise ValueError(f"cores {sorted(missing)} are not usable here, only {usable}")
        self._state = state
        self.contender_cores = chosen
        # On a machine with a single core the judge has to share it; it sleeps while a pass runs.
        self.judge_cores = tuple(core for core in usable if core not in chosen) or chosen
        self.facts = DeviceFacts(
            device_class="cpu",
            name=f"{platform.node()} cores {','.join(map(str, chosen))}",
            model=_processor(),
            driver=f"linux {platform.release()}",
            runtime=runtime,
            sandbox=sandbox_mode,
            cores=",".join(map(str, chosen)),
            cache_bytes=_cache_bytes(chosen[0]),
        )

    @override
    def arena(self, layout: Layout, *, sealed: bool = True) -> CpuArena:
        return CpuArena(layout, sealed=sealed)

    @override
    def ceiling(self) -> Ceiling:
        return Ceiling(floor.measure(self.contender_cores), duplex=True)

    @override
    def clear_caches(self) -> None:
        # A pass sweeps more slots than the caches hold; the judge's own writes between passes did as well.
        return

    @override
    def settle(self, *, trusted: bool) -> float:
        # What a contender left running is frozen with it.
        return 0.0

    @override
    def lease(self, wait_s: float) -> AbstractContextManager[None]:
        return locked(self._state / f"cpu-{self.facts.cores.replace(',', '-')}.lock", wait_s)


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _cache_bytes(core: int) -> int:
    """Size of the largest cache that this core has for itself; 1 MiB where the kernel does not say."""
    sizes = []
    for index in Path(f"/sys/devices/system/cpu/cpu{core}/cache").glob("index*"):
        if (index / "type").read_text().strip() == "Instruction" or (
            index / "level"
        ).read_text().strip() == "3":
            continue
        sizes.append(int((index / "size").read_text().strip().removesuffix("K")) * 1024)
    return max(sizes, default=1 << 20)
