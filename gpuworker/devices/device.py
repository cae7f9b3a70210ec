"""The seam between the judge and a kind of device.

Everything else in `gpuworker` speaks only of slots, passes and tensors, so a CUDA device is one more file here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from search.records import Record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    import torch

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
    """Cores that candidates run on, e.g. `1` or `2,3`."""
    cache_bytes: int
    """Cache that a pass must sweep over three times its size."""


class Arena(Protocol):
    """The judge's side of the buffers of one contender."""

    layout: Layout

    def files(self) -> tuple[int, ...]:
        """Open files for the other side: inputs (read-only there), then outputs."""
        ...

    def fill(self, slot: int, values: Sequence[torch.Tensor]) -> None:
        """Write a slot's inputs."""
        ...

    def poison(self, slot: int) -> None:
        """Overwrite a slot's outputs with a pattern that no kernel leaves by accident."""
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

    def broken_guard(self, slot: int) -> str:
        """Name of the output whose guard band was written, empty when all are whole."""
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
    contender_cores: tuple[int, ...]
    judge_cores: tuple[int, ...]

    def arena(self, layout: Layout, *, sealed: bool = True) -> Arena:
        """Buffers for one contender; unsealed ones let a contender write its inputs, to find out whether it would."""
        ...

    def lease(self, wait_s: float) -> AbstractContextManager[None]:
        """Exclusive use among all workers of this machine.

        Raises:
            DeviceBusyError: somebody else held it all that time.
        """
        ...


class DeviceBusyError(Exception):
    """The lease could not be had; nobody's candidate is to blame."""
