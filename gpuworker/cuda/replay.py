"""Replays a launch plan on the judge's slots inside a cell: our code only, in a process that lives for one candidate.

A pass is a CUDA graph of all its calls, timed by events around it. Before every pass the modules of its kernels, and
no others, are loaded anew and scratch memory is overwritten, so that kernels keep nothing from one pass to the next.
"""

from __future__ import annotations

import base64
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from cuda.bindings import driver as cu

from gpuworker import sandbox, wire
from gpuworker.cuda.driver import check, synchronise
from gpuworker.cuda.faults import CudaError, exit_code
from gpuworker.cuda.plan import Fill, LaunchPlan, Null, Pointer
from gpuworker.seccomp import Profile
from gpuworker.verdicts import Exit

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterable, Sequence

    from gpuworker.cuda.plan import Argument, Kernel, Launch
    from gpuworker.devices.device import Attachment
    from gpuworker.layout import Layout

_SCRATCH_BYTE = 0xA5
_FREE_SHARED_BYTES = 48 * 1024
_PACKED = {
    **dict.fromkeys(("i1", "i8"), np.int8),
    **dict.fromkeys(("u1", "u8"), np.uint8),
    **{"i16": np.int16, "i32": np.int32, "i64": np.int64},
    **{"u16": np.uint16, "u32": np.uint32, "u64": np.uint64},
    **{"fp16": np.float16, "fp32": np.float32, "fp64": np.float64},
}


class Passes(Protocol):
    """Where orders come from and answers go."""

    def take(self) -> tuple[bytes, Sequence[int]]:
        """Nonce and slots of the next pass."""
        ...

    def answer(self, nonce: bytes, seconds: float) -> None:
        """Tell its time."""
        ...


def serve(
    judge: socket.socket,
    frame: wire.Frame,
    layout: Layout,
    memory: Attachment,
    mode: sandbox.Mode,
    passes: Passes,
) -> None:
    """Load the plan and answer passes with their nonce and their time until the judge closes."""
    order = frame.document
    with os.fdopen(frame.files[2], "rb") as file:
        file.seek(0)  # the judge's position came along with the file
        plan = LaunchPlan.model_validate_json(file.read())
    judge.sendall(bytes.fromhex(order["attached"]))
    sandbox.apply_filter(Profile.CONTENDER, mode)
    try:
        replay = Replay(plan, layout, addresses(layout, memory))
        judge.sendall(bytes.fromhex(order["ready"]))
        while True:
            nonce, slots = passes.take()
            passes.answer(nonce, replay.run(slots))
    except CudaError as error:
        sys.stderr.write(f"{error}\n")
        sys.stderr.flush()
        os._exit(exit_code(error) or Exit.DEVICE_FAULT)


def addresses(layout: Layout, memory: Attachment) -> list[list[int]]:
    """Of every slot's inputs, then outputs."""
    return [
        [memory.address(region, output=False) for region in slot.inputs]
        + [memory.address(region, output=True) for region in slot.outputs]
        for slot in layout.slots
    ]


@dataclass(frozen=True)
class _Packed:
    """A launch with its arguments as the driver reads them."""

    launch: Launch
    values: list[np.ndarray[Any, Any]]
    pointers: np.ndarray[Any, Any]
    """To the values."""
    address: int
    """Of the pointers."""


class Replay:
    """A plan on this process's mapping of the slots."""

    def __init__(self, plan: LaunchPlan, layout: Layout, addresses: Sequence[Sequence[int]]) -> None:
        """Allocate scratch and load everything once.

        Args:
            plan: of all cases in the layout.
            layout: slots.
            addresses: of each slot's inputs, then outputs.

        Raises:
            CudaError: a kernel does not load, or there is not enough memory.
        """
        self._plan = plan
        self._cases = {case.case: case for case in plan.cases}
        self._slots = layout.slots
        self._cubins = [base64.b64decode(kernel.cubin) for kernel in plan.kernels]
        self._stream = check(cu.cuStreamCreate(cu.CUstream_flags.CU_STREAM_NON_BLOCKING), "stream")
        self._events = [check(cu.cuEventCreate(0), "event") for _ in range(2)]
        self._scratch = {
            case.case: [
                int(check(cu.cuMemAlloc(max(size, 1)), f"{size} bytes of scratch")) for size in case.scratch
            ]
            for case in plan.cases
        }
        self._addresses = addresses
        self._modules: list[Any] = []
        self._functions: dict[int, Any] = {}
        self._steps: dict[int, list[Fill | _Packed]] = {}
        """Of the slots that were met, with arguments where they stay for every pass."""
        self._load(range(len(plan.kernels)))

    def run(self, order: Sequence[int]) -> float:
        """One pass; seconds by the device's clock.

        Raises:
            CudaError: a kernel failed.
        """
        cases = {self._slots[number].case for number in order}
        self._load({step.kernel for case in cases for step in self._cases[case].launches})
        for case in cases:
            self._spoil_scratch(case)
        graph = self._captured(order)
        executable = check(cu.cuGraphInstantiate(graph, 0), "graph")
        check(cu.cuGraphUpload(executable, self._stream), "graph")
        check(cu.cuStreamSynchronize(self._stream), "before the pass")
        start, stop = self._events
        check(cu.cuEventRecord(start, self._stream), "event")
        check(cu.cuGraphLaunch(executable, self._stream), "launch")
        check(cu.cuEventRecord(stop, self._stream), "event")
        synchronise()
        milliseconds = float(check(cu.cuEventElapsedTime(start, stop), "event"))
        check(cu.cuGraphExecDestroy(executable), "graph")
        check(cu.cuGraphDestroy(graph), "graph")
        return milliseconds * 1e-3

    def _load(self, kernels: Iterable[int]) -> None:
        """Load these, and unload whatever was there."""
        self._functions.clear()
        while self._modules:
            check(cu.cuModuleUnload(self._modules.pop()), "unload")
        for number in kernels:
            module = check(cu.cuModuleLoadData(self._cubins[number]), "load a kernel")
            self._modules.append(module)
            self._functions[number] = _function(module, self._plan.kernels[number])

    def _spoil_scratch(self, case: str) -> None:
        """A kernel that counts on zeroed scratch, or on its own earlier values, is wrong and shows it."""
        for address, size in zip(self._scratch[case], self._cases[case].scratch, strict=True):
            check(cu.cuMemsetD8Async(address, _SCRATCH_BYTE, size, self._stream), "scratch")

    def _captured(self, order: Sequence[int]) -> Any:
        check(
            cu.cuStreamBeginCapture(self._stream, cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED),
            "capture",
        )
        for number in order:
            self._call(number)
        return check(cu.cuStreamEndCapture(self._stream), "capture")

    def _call(self, number: int) -> None:
        buffers = self._buffers(number)
        if number not in self._steps:
            steps = self._cases[self._slots[number].case].steps
            self._steps[number] = [
                step if isinstance(step, Fill) else _packed_launch(step, buffers) for step in steps
            ]
        for step in self._steps[number]:
            if isinstance(step, Fill):
                _fill(step, buffers, self._stream)
            else:
                kernel = step.launch.kernel
                _launch(self._functions[kernel], self._plan.kernels[kernel], step, self._stream)

    def _buffers(self, number: int) -> list[int]:
        return [*self._addresses[number], *self._scratch[self._slots[number].case]]


def _function(module: Any, kernel: Kernel) -> Any:
    function = check(cu.cuModuleGetFunction(module, kernel.name.encode()), "find a kernel")
    if kernel.shared_bytes > _FREE_SHARED_BYTES:
        attribute = cu.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        check(cu.cuFuncSetAttribute(function, attribute, kernel.shared_bytes), "shared memory")
    return function


def _fill(step: Fill, buffers: list[int], stream: Any) -> None:
    fills = {1: cu.cuMemsetD8Async, 2: cu.cuMemsetD16Async, 4: cu.cuMemsetD32Async}
    address = buffers[step.buffer] + step.offset
    check(fills[step.width](address, step.pattern, step.count, stream), "fill")


def _packed_launch(launch: Launch, buffers: list[int]) -> _Packed:
    values = [_packed(argument, buffers) for argument in launch.arguments]
    pointers = np.array([value.ctypes.data for value in values], np.uint64)
    return _Packed(launch, values, pointers, pointers.ctypes.data)


def _launch(function: Any, kernel: Kernel, packed: _Packed, stream: Any) -> None:
    shape = (*packed.launch.grid, kernel.threads, 1, 1, kernel.shared_bytes)
    if kernel.cooperative:
        answer = cu.cuLaunchCooperativeKernel(function, *shape, stream, packed.address)
    else:
        answer = cu.cuLaunchKernel(function, *shape, stream, packed.address, 0)
    check(answer, f"launch {kernel.name}")


def _packed(argument: Argument, buffers: list[int]) -> np.ndarray[Any, Any]:
    if isinstance(argument, Pointer):
        return np.array([buffers[argument.buffer] + argument.offset], np.uint64)
    if isinstance(argument, Null):
        return np.zeros(1, np.uint64)
    if argument.type == "bf16":
        # The upper half of a float32, rounded to the nearest by adding half of what is cut off.
        bits = np.array([argument.value], np.float32).view(np.uint32)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.array([argument.value]).astype(_PACKED[argument.type])
