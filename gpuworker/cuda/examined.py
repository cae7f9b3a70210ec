"""Program of its own that runs a launch plan once per case, for tools that watch kernels from outside.

    python -m gpuworker.cuda.examined ORDER

Every tensor is an allocation of exactly its size, so that a tool sees a step beyond its ends.
"""

from __future__ import annotations

import base64
import sys
from pathlib import Path

import numpy as np
from cuda.bindings import driver as cu

from gpuworker.cuda.driver import check, number_of, open_context
from gpuworker.cuda.plan import LaunchPlan
from gpuworker.cuda.replay import Replay
from gpuworker.layout import Layout
from search.records import Record


class ExamineOrder(Record):
    """What is run, and on which values."""

    plan: LaunchPlan
    layout: Layout
    """One slot for each case."""
    inputs: tuple[tuple[str, ...], ...]
    """Bytes of each slot's inputs, in base64."""
    device: str
    """PCI address."""


class OwnMemory:
    """Tensors of this process alone, found by where the layout would have put them."""

    def __init__(self, order: ExamineOrder) -> None:
        """Allocate, and copy the inputs."""
        self._addresses: dict[tuple[bool, int], int] = {}
        for slot, values in zip(order.layout.slots, order.inputs, strict=True):
            for region, value in zip(slot.inputs, values, strict=True):
                data = np.frombuffer(base64.b64decode(value), np.uint8)
                self._addresses[False, region.offset] = address = _allocated(region.size_bytes)
                if len(data):
                    check(cu.cuMemcpyHtoD(address, data.ctypes.data, len(data)), "copy")
            for region in slot.outputs:
                self._addresses[True, region.offset] = _allocated(region.size_bytes)

    def locate(self, offset: int, *, output: bool) -> int:
        """Where the tensor at this offset lies here."""
        return self._addresses[output, offset]


def _allocated(size_bytes: int) -> int:
    return int(check(cu.cuMemAlloc(max(size_bytes, 1)), f"{size_bytes} bytes"))


def main() -> None:
    """Run each case once."""
    order = ExamineOrder.model_validate_json(Path(sys.argv[1]).read_bytes())
    open_context(number_of(order.device))
    memory = OwnMemory(order)
    addresses = [
        [memory.locate(region.offset, output=False) for region in slot.inputs]
        + [memory.locate(region.offset, output=True) for region in slot.outputs]
        for slot in order.layout.slots
    ]
    replay = Replay(order.plan, order.layout, addresses)
    for number in range(len(order.layout.slots)):
        replay.run([number])


if __name__ == "__main__":
    main()
