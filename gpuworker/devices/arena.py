"""The judge's side of shared buffers, on whatever device torch can view them."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Protocol

import torch
from typing_extensions import override

from gpuworker import linux
from gpuworker.devices.device import Arena
from gpuworker.dtypes import TORCH_TYPES
from gpuworker.layout import GUARD_BYTES, Layout, Region

if TYPE_CHECKING:
    from collections.abc import Sequence

_BIT_TYPES = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class Shared(Protocol):
    """One buffer that another process maps too."""

    bytes: torch.Tensor
    """All of it, as uint8."""
    fd: int
    """By which the other side maps it."""

    def close(self) -> None:
        """Give it back; no view may be used any more."""
        ...


class TensorArena(Arena):
    """Slots inside two shared buffers, one of inputs and one of outputs."""

    def __init__(self, layout: Layout, inputs: Shared, outputs: Shared) -> None:
        """Take over the buffers and write the guard bands."""
        self.layout = layout
        self._inputs = inputs
        self._outputs = outputs
        device = outputs.bytes.device
        self._guard = torch.frombuffer(bytearray(secrets.token_bytes(GUARD_BYTES)), dtype=torch.uint8).to(
            device
        )
        # One secret bit pattern for each element size; a quiet NaN where that is a float.
        self._poison = {size: _poison_bits(size) for size in _BIT_TYPES}
        self._views = [
            (
                [_view(inputs, region) for region in slot.inputs],
                [_view(outputs, region) for region in slot.outputs],
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
        views = self._views[slot][0]
        return all(_same_bits(view, value) for view, value in zip(views, values, strict=True))

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


def _view(shared: Shared, region: Region) -> torch.Tensor:
    data = shared.bytes[region.offset : region.offset + region.size_bytes]
    return data.view(TORCH_TYPES[region.dtype]).view(region.shape)


def _poison_bits(size: int) -> int:
    """A random pattern as a signed integer: sign 0, and for floats all exponent bits and the quiet bit set."""
    random = secrets.randbits(8 * size - 1)
    quiet_nan = {1: 0x40, 2: 0x7FC0, 4: 0x7FC00000, 8: 0x7FF8000000000000}[size]
    # float16 has 5 exponent bits where bfloat16 has 8: 0x7FC0 is a NaN in both.
    return random | quiet_nan


def _bits(view: torch.Tensor) -> torch.Tensor:
    return view.view(_BIT_TYPES[view.element_size()])


def _same_bits(view: torch.Tensor, value: torch.Tensor) -> bool:
    """NaN equals NaN, and -0 is not 0."""
    if view.device.type != "cpu":
        return torch.equal(_bits(view), _bits(value))
    size = view.numel() * view.element_size()
    return bool(linux.memcmp(view.data_ptr(), value.data_ptr(), size) == 0)
