"""Values of inputs: as the workload declares them, and harder ones that an honest kernel takes as well."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import TYPE_CHECKING

import torch

from gpuworker.devices.cpu import TORCH_TYPES
from gpuworker.verdicts import RejectedError
from search.records import EvaluationStatus
from search.workload import Case, DType, RandomInput, ScalarInput, Tensor, Workload

if TYPE_CHECKING:
    from collections.abc import Callable


class Flavour(StrEnum):
    """A distribution of values. All but the declared one change the first random float input only."""

    DECLARED = "declared"
    HEAVY_TAIL = "heavy tail"
    TINY = "tiny"
    LARGE = "large"
    ZEROS = "with zeros"
    MASKED = "with -inf"


_UNDRAWN = "this judge cannot make {} inputs yet (input `{}`)"
_NARROW = {DType.FLOAT8_E4M3FN, DType.FLOAT8_E5M2, DType.FLOAT4_E2M1FN_X2}


def admit(workload: Workload) -> None:
    """Refuse what a format can say and this judge cannot do, before anything is drawn.

    Raises:
        RejectedError: INVALID_REFERENCE, naming the input, tensor or case.
    """
    for name, tensor in {**workload.inputs, **workload.outputs}.items():
        if tensor.dtype in _NARROW:
            raise _refused(f"this judge cannot compare {tensor.dtype} yet (`{name}`)")
    for case in workload.cases:
        if case.tolerance is not None:
            raise _refused(f"case {case.name}: this judge does not honour a tolerance of its own yet")
        if empty := [axis for axis, size in workload.sizes(case).items() if size == 0]:
            raise _refused(f"case {case.name}: axis {empty[0]} is empty, which this judge cannot run yet")
        for name, source in case.inputs.items():
            if not isinstance(source, RandomInput | ScalarInput):
                raise _refused(f"case {case.name}: {_UNDRAWN.format(source.type, name)}")


def _refused(message: str) -> RejectedError:
    return RejectedError(EvaluationStatus.INVALID_REFERENCE, message)


def secret_generator() -> torch.Generator:
    """Random numbers from a seed that leaves no trace."""
    generator = torch.Generator()
    generator.manual_seed(int.from_bytes(os.urandom(8), "little") >> 1)
    return generator


def draw(workload: Workload, case: Case, flavour: Flavour, generator: torch.Generator) -> list[torch.Tensor]:
    """All inputs of a case, contiguous, in the declared types."""
    sizes = workload.sizes(case)
    values = []
    twist = _TWISTS[flavour]
    for name, tensor in workload.inputs.items():
        source = case.inputs.get(name, RandomInput())
        if not isinstance(source, RandomInput | ScalarInput):
            raise _refused(_UNDRAWN.format(source.type, name))
        shape = workload.shape(tensor, sizes)
        value = _draw(source, tensor, shape, generator)
        if isinstance(source, RandomInput) and value.is_floating_point():
            value, twist = twist(value, generator), _as_declared
        values.append(value.to(TORCH_TYPES[tensor.dtype]).contiguous())
    return values


def _draw(
    source: RandomInput | ScalarInput, tensor: Tensor, shape: tuple[int, ...], generator: torch.Generator
) -> torch.Tensor:
    if isinstance(source, ScalarInput):
        return torch.full(shape, source.value, dtype=torch.float64 if tensor.dtype.is_float else torch.int64)
    if not tensor.dtype.is_float:
        low, high = (0, 2) if tensor.dtype == "bool" else (0, 8) if tensor.dtype == "uint8" else (-8, 8)
        return torch.randint(low, high, shape, generator=generator)
    match source.distribution:
        case "uniform":
            value = torch.rand(shape, generator=generator).mul_(2.0).sub_(1.0)
        case "heavy_tail":
            value = _heavy(torch.randn(shape, generator=generator), generator)
        case _:
            value = torch.randn(shape, generator=generator)
    return value.mul_(source.scale)


def _heavy(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Student's t with three degrees of freedom: normal over the root of a mean of three squares."""
    squares = torch.zeros_like(value)
    for _ in range(3):
        squares += torch.randn(value.shape, generator=generator).square_()
    return value / squares.div_(3.0).sqrt_().clamp_(min=1e-3)


def _as_declared(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return value


def _with_zeros(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return value.masked_fill_(torch.rand(value.shape, generator=generator) < 0.25, 0.0)


def _masked(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """-inf at one element in eight, but never over a whole row."""
    if value.ndim == 0:
        return value
    mask = torch.rand(value.shape, generator=generator) < 0.125
    mask[..., 0] = False
    return value.masked_fill_(mask, -torch.inf)


_TWISTS: dict[Flavour, Callable[[torch.Tensor, torch.Generator], torch.Tensor]] = {
    Flavour.DECLARED: _as_declared,
    Flavour.HEAVY_TAIL: _heavy,
    Flavour.TINY: lambda value, generator: value.mul_(0.05),
    Flavour.LARGE: lambda value, generator: value.mul_(50.0),
    Flavour.ZEROS: _with_zeros,
    Flavour.MASKED: _masked,
}
