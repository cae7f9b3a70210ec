"""The seam between the judge and a kind of device.

Everything else in `gpuworker` speaks only of slots, passes and tensors, so a CUDA device is one more file here.
"""

from __future__ import annotations

import contextlib
import fcntl
import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from search.records import Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    import torch

    from gpuworker.cuda.device_facts import GhostDevice
    from gpuworker.health.gpu import Gauge
    from gpuworker.layout import Layout, Region


class DeviceFacts(Record):
    """What a device says of itself; most of it enters the environment key."""

    device_class: str
    name: str
    """Host and device, unique within the class."""
    model: str
    driver: str
    runtime: str
    sandbox: str
    cores: str
    """Cores that candidates run on, e.g. `1` or `2,3`; their host code, on a GPU."""
    cache_bytes: int
    """Cache that a pass must sweep over three times its size."""
    uuid: str = ""
    """Of a GPU, as NVML knows it."""
    bus: str = ""
    """PCI address of a GPU."""


class DeviceBudget(Record):
    """How much of a device a judge may use for slots and specimens."""

    slot_bytes: int
    """Slots of a timed case together; enough to sweep every cache."""
    least_slots: int
    """Slots of a timed case, however large."""
    most_slots: int
    pass_s: float
    """A whole pass should take about this long."""
    pairs: int
    """Slope pairs that fresh specimens should last for in the fast tier."""
    case_bytes: int
    """Inputs and outputs of one call; specimens take many times that."""
    specimen_bytes: int
    """Specimens of one timed case together, but for the least that a measurement needs."""
    oracle_bytes: int
    """Slots of the oracle together, one of each case at least."""


@dataclass(frozen=True)
class Bandwidth:
    """Bytes per second at one swept size."""

    swept_bytes: int
    read: float
    write: float


@dataclass(frozen=True)
class Ceiling:
    """The most that a device was seen to do."""

    bandwidth: tuple[Bandwidth, ...]
    """At several swept sizes, smallest first."""
    duplex: bool
    """Reads and writes go on side by side; False where they share one memory bus."""
    operations: float = math.inf
    """Floating-point operations per second in its fastest type; infinite where it was not measured."""

    def or_higher(self, other: Ceiling) -> Ceiling:
        """The most of both, which were measured at the same sizes."""
        pairs = zip(self.bandwidth, other.bandwidth, strict=True)
        bandwidth = tuple(
            Bandwidth(one.swept_bytes, max(one.read, two.read), max(one.write, two.write))
            for one, two in pairs
        )
        return replace(self, bandwidth=bandwidth, operations=max(self.operations, other.operations))


class Arena(Protocol):
    """The judge's side of the buffers of one contender."""

    layout: Layout

    def files(self) -> tuple[int, ...]:
        """Open files for the other side: inputs (read-only there), then outputs."""
        ...

    def fill(self, values: Mapping[int, Sequence[torch.Tensor]]) -> None:
        """Write the inputs of some slots."""
        ...

    def poison(self, slots: Sequence[int]) -> None:
        """Overwrite the outputs of at least these slots with a pattern that no kernel leaves by accident."""
        ...

    def outputs(self, slot: int) -> list[torch.Tensor]:
        """Views of a slot's outputs."""
        ...

    def is_poison(self, output: torch.Tensor) -> torch.Tensor:
        """Elements that nobody has written since `poison`."""
        ...

    def inputs_equal(self, slot: int, values: Sequence[torch.Tensor]) -> bool:
        """Whether a slot's inputs still hold these values, bit for bit."""
        ...

    def broken_guard(self, slots: Sequence[int]) -> str:
        """Name of an output of at least these slots beside which was written, empty when all guards are whole."""
        ...

    def close(self) -> None:
        """Give the memory back."""
        ...


class Attachment(Protocol):
    """The contender's side of the same buffers."""

    def address(self, region: Region, *, output: bool) -> int:
        """Where a tensor lies in this process."""
        ...

    def tensor(self, region: Region, *, output: bool) -> torch.Tensor:
        """A view of it."""
        ...

    def synchronise(self) -> None:
        """Wait until all work given to the device is done."""
        ...


class Device(Protocol):
    """One device as the judge drives it."""

    facts: DeviceFacts
    budget: DeviceBudget
    index: int
    """Number of the GPU as the judge counts; -1 for a CPU."""
    bus: str
    """PCI address of the GPU, by which cells find it; empty for a CPU."""
    ghost: GhostDevice | None
    """What traced host code is told of it; None where host code runs with it."""
    gauge: Gauge | None
    """Where its clocks are read; None where there is nothing to read."""
    nodes: tuple[str, ...]
    """Device files of cells that have the device."""
    tensors: torch.device
    """Where specimens are drawn, kept and compared."""
    contender_cores: tuple[int, ...]
    judge_cores: tuple[int, ...]

    def ceiling(self) -> Ceiling:
        """Measure what this device can do at most."""
        ...

    def clear_caches(self) -> None:
        """Before a pass: nothing of its slots is left in a cache, and all work of the judge is done."""
        ...

    def settle(self, *, trusted: bool) -> float:
        """Wait until the device has done what others began on it; seconds that took beyond an idle device.

        Args:
            trusted: a process of ours ran, which waits for its own work: what an idle device takes.
        """
        ...

    def arena(self, layout: Layout, *, sealed: bool = True) -> Arena:
        """Buffers for one contender; unsealed ones let a contender write its inputs, to find out whether it would."""
        ...

    def lease(self, wait_s: float) -> AbstractContextManager[None]:
        """Exclusive use among all workers of this machine.

        Raises:
            DeviceBusyError: somebody else held it all that time.
        """
        ...


@contextlib.contextmanager
def locked(path: Path, wait_s: float) -> Iterator[None]:
    """Hold a lock file.

    Raises:
        DeviceBusyError: somebody else held it all that time.
    """
    deadline = time.monotonic() + wait_s
    with path.open("w") as lock:
        while True:
            try:
                fcntl.flock(lock.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise DeviceBusyError("another worker on this machine keeps the device") from None
                time.sleep(0.02)
        yield


class DeviceBusyError(Exception):
    """The lease could not be had; nobody's candidate is to blame."""
