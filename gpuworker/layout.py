"""Where tensors lie in the two buffers that a judge shares with a contender: one of inputs, one of outputs.

A slot is one full set of inputs and outputs of one case. Around every output lie guard bands, which nobody may
touch; the space behind an input is padding, since reading a little too far is no crime.

Every tensor is contiguous; inputs start on a page, outputs on 128 bytes. Variants with other strides or starts are not
made: the ABI gives compiled kernels bare pointers and sizes, so a kernel may count on both, as Triton's own
specialisation does. What a workload wants strided it declares as a larger tensor and an index or an axis.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from search.records import Record
from search.workload import ITEM_BYTES, Case, DType, Tensor, Workload

if TYPE_CHECKING:
    from collections.abc import Mapping

PAGE_BYTES = 4096
GUARD_BYTES = 1024
OUTPUT_SKEW_BYTES = 2176
"""Outputs start at another offset in their page than inputs, so that row i of both never fights for one cache set.

A multiple of 128, so that a warp of a GPU writes whole cache lines.
"""


class Region(Record):
    """One tensor inside a buffer."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    scalar: bool
    """Given to Python kernels as a number; C++ gets a pointer to one element either way."""
    offset: int

    @property
    def elements(self) -> int:
        """How many."""
        return math.prod(self.shape)

    @property
    def size_bytes(self) -> int:
        """Bytes of the data, guards not counted."""
        return self.elements * ITEM_BYTES[self.dtype]


class Slot(Record):
    """One set of inputs and outputs."""

    case: str
    axes: tuple[int, ...]
    """Sizes of all axes in the workload's order, as C++ kernels get them."""
    inputs: tuple[Region, ...]
    outputs: tuple[Region, ...]

    @property
    def size_bytes(self) -> int:
        """Bytes that a kernel reads and writes at least."""
        return sum(region.size_bytes for region in (*self.inputs, *self.outputs))


class Layout(Record):
    """Slots of one contender and the buffer sizes that hold them."""

    slots: tuple[Slot, ...]
    input_bytes: int
    output_bytes: int

    def of_case(self, case: str) -> list[int]:
        """Numbers of a case's slots."""
        return [number for number, slot in enumerate(self.slots) if slot.case == case]


def slot_bytes(workload: Workload, case: Case, *, golden: bool = False) -> int:
    """Bytes of one slot's tensors; float outputs are float64 where it is golden, as in `plan`."""
    sizes = workload.sizes(case)
    typed = [(tensor, tensor.dtype) for tensor in workload.inputs.values()]
    typed += [(tensor, output_type(tensor.dtype, golden=golden)) for tensor in workload.outputs.values()]
    return sum(math.prod(workload.shape(tensor, sizes)) * ITEM_BYTES[dtype] for tensor, dtype in typed)


def output_type(dtype: DType, *, golden: bool) -> DType:
    """What a slot holds of an output."""
    return DType.FLOAT64 if golden and dtype.is_float else dtype


def plan(workload: Workload, counts: Mapping[str, int], *, golden: bool = False) -> Layout:
    """Lay out so many slots per case.

    Args:
        workload: gives tensors and cases.
        counts: slots per case name; cases not named get none.
        golden: float outputs are float64, for the oracle.
    """
    slots: list[Slot] = []
    ends = [0, 0]
    for case in workload.cases:
        sizes = workload.sizes(case)
        for _ in range(counts.get(case.name, 0)):
            inputs: list[Region] = []
            outputs: list[Region] = []
            for name, tensor in workload.inputs.items():
                inputs.append(
                    _region(name, tensor, workload.shape(tensor, sizes), tensor.dtype, _page(ends[0]))
                )
                ends[0] = inputs[-1].offset + inputs[-1].size_bytes + GUARD_BYTES
            for name, tensor in workload.outputs.items():
                dtype = output_type(tensor.dtype, golden=golden)
                start = _page(ends[1] + GUARD_BYTES) + OUTPUT_SKEW_BYTES
                outputs.append(_region(name, tensor, workload.shape(tensor, sizes), dtype, start))
                ends[1] = outputs[-1].offset + outputs[-1].size_bytes + GUARD_BYTES
            slot = Slot(
                case=case.name, axes=tuple(sizes.values()), inputs=tuple(inputs), outputs=tuple(outputs)
            )
            slots.append(slot)
    return Layout(slots=tuple(slots), input_bytes=_page(ends[0]), output_bytes=_page(ends[1]))


def _page(position: int) -> int:
    return -(-position // PAGE_BYTES) * PAGE_BYTES


def _region(name: str, tensor: Tensor, shape: tuple[int, ...], dtype: DType, offset: int) -> Region:
    return Region(name=name, dtype=dtype, shape=shape, scalar=tensor.shape is None, offset=offset)
