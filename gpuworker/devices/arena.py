"""The judge's side of shared buffers, on whatever device torch can view them."""

from __future__ import annotations

import itertools
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import torch
from typing_extensions import override

from gpuworker import linux
from gpuworker.devices.device import Arena
from gpuworker.dtypes import TORCH_TYPES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpuworker.layout import Layout, Region

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
        # One secret bit pattern for each element size; a quiet NaN where that is a float.
        self._poison = {size: _poison_bits(size) for size in _BIT_TYPES}
        self._views = [
            (
                [_view(inputs, region) for region in slot.inputs],
                [_view(outputs, region) for region in slot.outputs],
            )
            for slot in layout.slots
        ]
        self._gaps = _gaps(layout)
        lengths = [end - start for start, end in (gap.span for gap in self._gaps)]
        random = torch.frombuffer(bytearray(secrets.token_bytes(sum(lengths))), dtype=torch.uint8)
        self._guard = random.to(device)
        self._guards = self._guard.split(lengths)  # type: ignore[no-untyped-call]
        self._found = [outputs.bytes[slice(*gap.span)] for gap in self._gaps]
        torch._foreach_copy_(self._found, self._guards)
        self._first_gap = list(itertools.accumulate((len(slot.outputs) for slot in layout.slots), initial=0))
        self._blank: torch.Tensor | None = None

    @override
    def files(self) -> tuple[int, ...]:
        return (self._inputs.fd, self._outputs.fd)

    @override
    def fill(self, values: Mapping[int, Sequence[torch.Tensor]]) -> None:
        views = [view for slot in values for view in self._views[slot][0]]
        given = [value for row in values.values() for value in row]
        if views:
            torch._foreach_copy_([_copied(view) for view in views], [_copied(value) for value in given])

    @override
    def poison(self, slots: Sequence[int]) -> None:
        if self._outputs.bytes.device.type == "cpu":
            self._poison_each(slots)
            return
        # One copy of everything takes less than a word to the device for each slot.
        if self._blank is None:
            self._poison_each(range(len(self._views)))
            self._blank = self._outputs.bytes.clone()
        self._outputs.bytes.copy_(self._blank)

    def _poison_each(self, slots: Sequence[int]) -> None:
        for slot in slots:
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
    def broken_guard(self, slots: Sequence[int]) -> str:
        if self._guard.device.type != "cpu":
            # One question to the device, about all gaps.
            if torch.equal(torch.cat(self._found), self._guard):
                return ""
            slots = range(len(self._views))
        for slot in slots:
            # The gap before each output, and the one behind the last.
            for number in range(self._first_gap[slot], self._first_gap[slot + 1] + 1):
                if not torch.equal(self._found[number], self._guards[number]):
                    return self._gaps[number].name
        return ""

    @override
    def close(self) -> None:
        self._views.clear()
        self._found.clear()
        self._blank = None
        self._inputs.close()
        self._outputs.close()


@dataclass(frozen=True)
class _Gap:
    """Bytes of the buffer of outputs that belong to no output."""

    name: str
    """The output next to it."""
    span: tuple[int, int]


def _gaps(layout: Layout) -> list[_Gap]:
    """All of them in order, guard bands and padding alike: nobody may write there, or keep anything there."""
    gaps, end, name = [], 0, ""
    for region in (region for slot in layout.slots for region in slot.outputs):
        gaps.append(_Gap(region.name, (end, region.offset)))
        end, name = region.offset + region.size_bytes, region.name
    return [*gaps, _Gap(name, (end, max(layout.output_bytes, end)))]


def _view(shared: Shared, region: Region) -> torch.Tensor:
    data = shared.bytes[region.offset : region.offset + region.size_bytes]
    return data.view(TORCH_TYPES[region.dtype]).view(region.shape)


def _poison_bits(size: int) -> int:
    """A random pattern as a signed integer: sign 0, and for floats all exponent bits and the quiet bit set."""
    random = secrets.randbits(8 * size - 1)
    quiet_nan = {1: 0x40, 2: 0x7FC0, 4: 0x7FC00000, 8: 0x7FF8000000000000}[size]
    # float16 has 5 exponent bits where bfloat16 has 8: 0x7FC0 is a NaN in both.
    return random | quiet_nan


def _copied(value: torch.Tensor) -> torch.Tensor:
    """As a type that torch copies in lists, which floats of eight bits are not."""
    return value.view(torch.uint8) if value.element_size() == 1 and value.is_floating_point() else value


def _bits(view: torch.Tensor) -> torch.Tensor:
    return view.view(_BIT_TYPES[view.element_size()])


def _same_bits(view: torch.Tensor, value: torch.Tensor) -> bool:
    """NaN equals NaN, and -0 is not 0."""
    if view.device.type != "cpu":
        return torch.equal(_bits(view), _bits(value))
    size = view.numel() * view.element_size()
    return bool(linux.memcmp(view.data_ptr(), value.data_ptr(), size) == 0)
