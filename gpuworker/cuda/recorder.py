"""A Triton driver without a device: kernels are compiled as on a real one, and launches are written down."""

from __future__ import annotations

import base64
import contextlib
import math
import re
from typing import TYPE_CHECKING, Any

import torch
import triton
from triton.backends.compiler import GPUTarget

from gpuworker.cuda.ghosts import UnreplayableError
from gpuworker.cuda.plan import Argument, Kernel, Launch, Null, Pointer, Scalar

if TYPE_CHECKING:
    import io
    from collections.abc import Iterator

    from gpuworker.cuda.device_facts import GhostDevice
    from gpuworker.cuda.ghosts import Ghosts
    from gpuworker.cuda.plan import Step

_USED = re.compile(r"Used (\d+) registers")
_SPILLED = re.compile(r"(\d+) bytes spill stores")
_LIMITS = (1 << 31, 1 << 16, 1 << 16)


class Recorder:
    """Kernels of a program, and the steps of the call that is being traced."""

    def __init__(self, device: GhostDevice, printed: io.StringIO) -> None:
        """Nothing is compiled yet; `printed` is where the assembler's words about a kernel go."""
        self.device = device
        self._printed = printed
        self.kernels: list[Kernel] = []
        self.steps: list[Step] = []
        self.ghosts: Ghosts | None = None

    def number(self, metadata: Any, cubin: bytes) -> int:
        """Take in a compiled kernel; its place in `kernels`."""
        if getattr(metadata, "num_ctas", 1) > 1:
            raise UnreplayableError("uses thread block clusters")
        if getattr(metadata, "launch_pdl", False):
            raise UnreplayableError("uses programmatic dependent launch")
        log = self._printed.getvalue()
        self._printed.seek(0)
        self._printed.truncate()
        self.kernels.append(
            Kernel(
                name=metadata.name,
                cubin=base64.b64encode(cubin).decode(),
                threads=32 * metadata.num_warps,
                shared_bytes=metadata.shared,
                cooperative=bool(getattr(metadata, "launch_cooperative_grid", False)),
                registers=_found(_USED, log),
                spilled_bytes=_found(_SPILLED, log),
            )
        )
        return len(self.kernels) - 1

    def launched(self, kernel: int, grid: tuple[int, int, int], arguments: list[Argument]) -> None:
        """Write down a launch; an empty grid is none."""
        if 0 in grid:
            return
        if any(not 0 < size < limit for size, limit in zip(grid, _LIMITS, strict=True)):
            raise UnreplayableError(f"launches a grid of {grid}")
        self.steps.append(Launch(kernel=kernel, grid=grid, arguments=tuple(arguments)))


def _found(pattern: re.Pattern[str], log: str) -> int | None:
    found = pattern.findall(log)
    return int(found[-1]) if found else None


@contextlib.contextmanager
def recording(recorder: Recorder) -> Iterator[None]:
    """Inside, Triton launches go to the recorder."""
    active = triton.runtime.driver
    before = active._active
    active.set_active(_Driver(recorder))
    try:
        yield
    finally:
        active._active = before


class _Driver:
    """What Triton asks of a driver."""

    def __init__(self, recorder: Recorder) -> None:
        self.utils = _Utils(recorder.device)
        self.launcher_cls = lambda source, metadata: _Launcher(recorder, self.utils, source, metadata)
        self._device = recorder.device

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, device: int) -> None:
        return

    def get_current_stream(self, device: int | None = None) -> int:
        return 0

    def get_device_capability(self, device: int = 0) -> tuple[int, int]:
        return self._device.capability

    def get_current_target(self) -> GPUTarget:
        major, minor = self._device.capability
        return GPUTarget("cuda", 10 * major + minor, 32)

    def get_benchmarker(self) -> Any:
        raise UnreplayableError("tunes itself while it runs; give it KNOBS instead of triton.autotune")


class _Utils:
    """Device facts, and a loader that loads nothing."""

    def __init__(self, device: GhostDevice) -> None:
        self._device = device
        self.cubin = b""

    def get_device_properties(self, device: int) -> dict[str, int]:
        return {
            "max_shared_mem": self._device.shared_bytes,
            "max_num_regs": 65536,
            "multiprocessor_count": self._device.multiprocessors,
            "warpSize": 32,
            "sm_clock_rate": 1_980_000,
            "mem_clock_rate": 3_201_000,
            "mem_bus_width": 6144,
        }

    def load_binary(
        self, name: str, kernel: bytes, shared: int, device: int
    ) -> tuple[None, None, int, int, int]:
        self.cubin = kernel
        return None, None, 0, 0, 1024

    def unload_module(self, module: None) -> None:
        return


class _Launcher:
    """Takes the place of Triton's launch stub for one compiled kernel."""

    def __init__(self, recorder: Recorder, utils: _Utils, source: Any, metadata: Any) -> None:
        self._recorder = recorder
        self._utils = utils
        self._source = source
        self._metadata = metadata
        self._number: int | None = None

    def __call__(self, x: int, y: int, z: int, stream: int, function: None, *rest: Any) -> None:
        # After the packed metadata, the launch metadata and two hooks come the program's own arguments.
        given = rest[4:]
        if self._number is None:
            self._number = self._recorder.number(self._metadata, self._utils.cubin)
        arguments: list[Argument] = []
        for kind, value in zip(self._source.signature.values(), given, strict=True):
            arguments += list(self._flat(kind, value))
        grid = (int(x), int(y), int(z))
        arguments += self._hidden(grid)
        self._recorder.launched(self._number, grid, arguments)

    def _flat(self, kind: Any, value: Any) -> Iterator[Argument]:
        if isinstance(kind, tuple):
            for inner, each in zip(kind, value, strict=True):
                yield from self._flat(inner, each)
        elif kind == "constexpr":
            return
        elif kind.startswith("*"):
            yield self._pointer(value)
        elif kind.startswith(("tensordesc", "nvTmaDesc")):
            raise UnreplayableError("makes a tensor descriptor on the host")
        else:
            number = float(value) if kind.startswith(("fp", "bf")) else int(value)
            yield Scalar(type=kind, value=number)

    def _pointer(self, value: Any) -> Argument:
        if value is None:
            return Null()
        tensor = getattr(value, "base", value)
        ghosts = self._recorder.ghosts
        if ghosts is None or not hasattr(tensor, "untyped_storage"):
            raise UnreplayableError("passes an address that belongs to no tensor")
        offset = int(tensor.storage_offset()) * tensor.element_size()
        return Pointer(buffer=ghosts.buffer(tensor).number, offset=offset)

    def _hidden(self, grid: tuple[int, int, int]) -> list[Argument]:
        """Triton adds pointers to scratch of its own: for descriptors, and since 3.4 for profiles."""
        size = getattr(self._metadata, "global_scratch_size", 0) * math.prod(grid)
        ghosts = self._recorder.ghosts
        if not size or ghosts is None:
            return [Null(), Null()]
        return [self._pointer(ghosts.tensor((size,), torch.uint8)), Null()]
