"""Device class `cpu`: memfds as buffers, pinned cores, a lock file as lease.

Inputs are sealed with F_SEAL_FUTURE_WRITE after the judge has its own mapping, so nobody else can map or write them.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import mmap
import os
import platform
import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from typing_extensions import override

from gpuworker import linux
from gpuworker.devices.device import Arena, Attachment, Device, DeviceBusyError, DeviceFacts
from gpuworker.layout import GUARD_BYTES, Layout, Region
from search.workload import DType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_FUTURE_WRITE = 1, 2, 4, 16

TORCH_TYPES = {dtype: getattr(torch, dtype.value) for dtype in DType}
_BIT_TYPES = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class CpuArena(Arena):
    """memfds seen from the judge."""

    def __init__(self, layout: Layout, *, sealed: bool) -> None:
        """Allocate; pages cost nothing until they are touched."""
        self.layout = layout
        self._inputs = _Shared("inputs", layout.input_bytes)
        self._outputs = _Shared("outputs", layout.output_bytes)
        if sealed:
            self._inputs.seal(F_SEAL_FUTURE_WRITE)
        # Neither side may shrink a file under the other's mapping, which would be a SIGBUS.
        for shared in (self._inputs, self._outputs):
            shared.seal(F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
        self._guard = torch.frombuffer(bytearray(secrets.token_bytes(GUARD_BYTES)), dtype=torch.uint8)
        # One secret bit pattern for each element size; a quiet NaN where that is a float.
        self._poison = {size: _poison_bits(size) for size in _BIT_TYPES}
        self._views = [
            (
                [self._inputs.tensor(region) for region in slot.inputs],
                [self._outputs.tensor(region) for region in slot.outputs],
            )
            for slot in layout.slots
        ]
        for slot in layout.slots:
            for region in slot.outputs:
                for band in self._bands(region):
                    band.copy_(self._guard)

    @override
    def files(self) -> tuple[int, ...]:
        return (self._inputs.fd, self._outputs.fd)

    @override
    def fill(self, slot: int, values: Sequence[torch.Tensor]) -> None:
        for view, value in zip(self._views[slot][0], values, strict=True):
            view.copy_(value)

    @override
    def poison(self, slot: int) -> None:
        for view in self._views[slot][1]:
            bits = _bits(view)
            bits.fill_(self._poison[bits.element_size()])

    @override
    def outputs(self, slot: int) -> list[torch.Tensor]:
        return self._views[slot][1]

    @override
    def is_poison(self, output: torch.Tensor) -> torch.Tensor:
        bits = _bits(output)
        return bits == self._poison[bits.element_size()]

    @override
    def inputs_equal(self, slot: int, values: Sequence[torch.Tensor]) -> bool:
        for view, value in zip(self._views[slot][0], values, strict=True):
            size = view.numel() * view.element_size()
            if linux.memcmp(view.data_ptr(), value.data_ptr(), size) != 0:
                return False
        return True

    @override
    def broken_guard(self, slot: int) -> str:
        for region in self.layout.slots[slot].outputs:
            if not all(torch.equal(band, self._guard) for band in self._bands(region)):
                return region.name
        return ""

    @override
    def close(self) -> None:
        self._views.clear()
        self._inputs.close()
        self._outputs.close()

    def _bands(self, region: Region) -> tuple[torch.Tensor, torch.Tensor]:
        end = region.offset + region.size_bytes
        whole = self._outputs.bytes
        return whole[region.offset - GUARD_BYTES : region.offset], whole[end : end + GUARD_BYTES]


def _poison_bits(size: int) -> int:
    """A random pattern as a signed integer: sign 0, and for floats all exponent bits and the quiet bit set."""
    random = secrets.randbits(8 * size - 1)
    quiet_nan = {1: 0x40, 2: 0x7FC0, 4: 0x7FC00000, 8: 0x7FF8000000000000}[size]
    # float16 has 5 exponent bits where bfloat16 has 8: 0x7FC0 is a NaN in both.
    return random | quiet_nan


def _bits(view: torch.Tensor) -> torch.Tensor:
    return view.view(_BIT_TYPES[view.element_size()])


class _Shared:
    """One memfd with the judge's mapping."""

    def __init__(self, name: str, size_bytes: int) -> None:
        self.fd = os.memfd_create(name, os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
        os.ftruncate(self.fd, max(size_bytes, mmap.PAGESIZE))
        self._map = mmap.mmap(self.fd, max(size_bytes, mmap.PAGESIZE))
        self.bytes = torch.frombuffer(self._map, dtype=torch.uint8)

    def seal(self, seals: int) -> None:
        fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, seals)

    def tensor(self, region: Region) -> torch.Tensor:
        data = self.bytes[region.offset : region.offset + region.size_bytes]
        return data.view(TORCH_TYPES[region.dtype]).view(region.shape)

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
        flat = torch.frombuffer(memory, dtype=TORCH_TYPES[region.dtype], count=region.elements)
        return flat.view(region.shape)

    @override
    def synchronise(self) -> None:
        # A C++ kernel that returned has joined its threads; whatever it left running is frozen, and missed.
        return


class CpuDevice(Device):
    """The cores of this machine: the last one for candidates unless told, the rest for everything else."""

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
    @contextlib.contextmanager
    def lease(self, wait_s: float) -> Iterator[None]:
        path = self._state / f"cpu-{self.facts.cores.replace(',', '-')}.lock"
        with path.open("w") as lock:
            _take(lock.fileno(), wait_s)
            yield


def _take(fd: int, wait_s: float) -> None:
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise DeviceBusyError("another worker on this machine keeps the cores") from None
            time.sleep(0.02)
        else:
            return


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
