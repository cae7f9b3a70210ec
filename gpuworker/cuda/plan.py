"""A launch plan: everything that a program's host code asks of the device, as data.

Traced in a cell without a device (`tracer.py`), read by the judge, replayed by our own code (`replay.py`), so that no
host code of a candidate runs beside the clock.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from search.records import Record

MOST_STEPS = 64
MOST_KERNELS = 256
_CUBIN_BYTES = 16 << 20

Size = Annotated[int, Field(ge=0, lt=1 << 48)]


class Kernel(Record):
    """One compiled kernel."""

    name: Annotated[str, Field(min_length=1, max_length=500)]
    cubin: Annotated[str, Field(max_length=_CUBIN_BYTES)]
    """Base64."""
    threads: Annotated[int, Field(ge=1, le=1024)]
    shared_bytes: Annotated[int, Field(ge=0, le=1 << 20)]
    cooperative: bool = False
    registers: int | None = None
    """Per thread; None where the compiler did not say."""
    spilled_bytes: int | None = None
    """Stored to local memory, per thread."""


class Pointer(Record):
    """An address inside a buffer: inputs are numbered first, then outputs, then scratch."""

    type: Literal["pointer"] = "pointer"
    buffer: Annotated[int, Field(ge=0)]
    offset: Size = 0


class Null(Record):
    """A pointer to nothing."""

    type: Literal["null"] = "null"


class Scalar(Record):
    """A number in one of Triton's types."""

    type: Literal[
        "i1", "i8", "i16", "i32", "i64", "u1", "u8", "u16", "u32", "u64", "fp16", "bf16", "fp32", "fp64"
    ]
    value: Annotated[int, Field(ge=-(1 << 63), lt=1 << 64)] | float


Argument = Annotated[Pointer | Null | Scalar, Field(discriminator="type")]


class Launch(Record):
    """One kernel launch."""

    type: Literal["launch"] = "launch"
    kernel: Annotated[int, Field(ge=0)]
    grid: tuple[
        Annotated[int, Field(ge=1, lt=1 << 31)],
        Annotated[int, Field(ge=1, lt=1 << 16)],
        Annotated[int, Field(ge=1, lt=1 << 16)],
    ]
    arguments: Annotated[tuple[Argument, ...], Field(max_length=512)]


class Fill(Record):
    """Bytes of a buffer set to a repeated pattern."""

    type: Literal["fill"] = "fill"
    buffer: Annotated[int, Field(ge=0)]
    offset: Size
    count: Size
    """Elements."""
    width: Literal[1, 2, 4]
    """Bytes of an element."""
    pattern: Annotated[int, Field(ge=0, lt=1 << 32)]


Step = Annotated[Launch | Fill, Field(discriminator="type")]


class CasePlan(Record):
    """What one call does on one case, in order."""

    case: str
    steps: Annotated[tuple[Step, ...], Field(max_length=MOST_STEPS)]
    scratch: Annotated[tuple[Size, ...], Field(max_length=256)] = ()
    """Bytes of each scratch buffer that the host code allocates."""

    @property
    def launches(self) -> list[Launch]:
        """Kernel launches in order."""
        return [step for step in self.steps if isinstance(step, Launch)]


class LaunchPlan(Record):
    """One program on some of a workload's cases."""

    kernels: Annotated[tuple[Kernel, ...], Field(max_length=MOST_KERNELS)]
    cases: tuple[CasePlan, ...]


def merge(plans: list[LaunchPlan]) -> LaunchPlan:
    """One plan of all cases; kernels of one name and one binary become one."""
    kernels: dict[tuple[str, str], Kernel] = {}
    places: dict[tuple[str, str], int] = {}
    cases: list[CasePlan] = []
    for plan in plans:
        keys = [(kernel.name, kernel.cubin) for kernel in plan.kernels]
        for key, kernel in zip(keys, plan.kernels, strict=True):
            places.setdefault(key, len(places))
            if key not in kernels or kernel.registers is not None:
                kernels[key] = kernel
        numbers = [places[key] for key in keys]
        for case in plan.cases:
            steps = tuple(
                step.model_copy(update={"kernel": numbers[step.kernel]}) if isinstance(step, Launch) else step
                for step in case.steps
            )
            cases.append(case.model_copy(update={"steps": steps}))
    return LaunchPlan(kernels=tuple(kernels.values()), cases=tuple(cases))


def fault(plan: LaunchPlan, buffers: int) -> str:
    """What is wrong with a plan whose fields are each valid, empty when nothing is.

    Args:
        plan: as it came from a cell.
        buffers: inputs and outputs of the workload together.
    """
    for case in plan.cases:
        known = buffers + len(case.scratch)
        if not case.launches:
            return f"launches no kernel in case {case.case}"
        for step in case.steps:
            if isinstance(step, Launch) and step.kernel >= len(plan.kernels):
                return "launches a kernel that is not there"
            named = [step.buffer] if isinstance(step, Fill) else _buffers(step)
            if any(buffer >= known for buffer in named):
                return "uses a buffer that is not there"
            if isinstance(step, Fill) and step.buffer >= buffers:
                end = step.offset + step.count * step.width
                if end > case.scratch[step.buffer - buffers]:
                    return "fills beyond the end of a scratch buffer"
    return ""


def _buffers(step: Launch) -> list[int]:
    return [argument.buffer for argument in step.arguments if isinstance(argument, Pointer)]
