"""Values of inputs: as the workload declares them, and harder ones that an honest kernel takes as well."""

from __future__ import annotations

import math
import os
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

import torch

from gpuworker.dtypes import TORCH_TYPES
from gpuworker.verdicts import RejectedError
from search.records import EvaluationStatus
from search.workload import ITEM_BYTES, CustomInput, DType, RandomInput, SafetensorsInput, ScalarInput

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from search.workload import Case, Generator, Tensor, Workload


class Flavour(StrEnum):
    """A distribution of values. All but the declared one change the first random float input only."""

    DECLARED = "declared"
    HEAVY_TAIL = "heavy tail"
    TINY = "tiny"
    LARGE = "large"
    ZEROS = "with zeros"
    MASKED = "with -inf"


def admit(workload: Workload) -> None:
    """Refuse what a format can say and this judge cannot do, before anything is drawn.

    Raises:
        RejectedError: INVALID_REFERENCE, naming the input, tensor or case.
    """
    for name, tensor in {**workload.inputs, **workload.outputs}.items():
        if tensor.dtype is DType.FLOAT4_E2M1FN_X2:
            raise _refused(f"this judge cannot draw or compare {tensor.dtype} yet (`{name}`)")
    for case in workload.cases:
        sizes = workload.sizes(case)
        written = sum(math.prod(workload.shape(output, sizes)) for output in workload.outputs.values())
        if case.timed and not written:
            raise _refused(f"case {case.name}: is timed, but its outputs are empty")
        for name, source in case.inputs.items():
            if isinstance(source, SafetensorsInput) and not source.data:
                raise _refused(f"case {case.name}: the recorded tensor of `{name}` did not come along")


def _refused(message: str) -> RejectedError:
    return RejectedError(EvaluationStatus.INVALID_REFERENCE, message)


def secret_generator(device: torch.device | str = "cpu") -> torch.Generator:
    """Random numbers from a seed that leaves no trace."""
    generator = torch.Generator(device)
    generator.manual_seed(secret_seed())
    return generator


def secret_seed() -> int:
    """63 random bits."""
    return int.from_bytes(os.urandom(8), "little") >> 1


def draw(
    workload: Workload,
    case: Case,
    flavour: Flavour,
    generator: torch.Generator,
    custom: Mapping[str, torch.Tensor] = MappingProxyType({}),
) -> list[torch.Tensor]:
    """All inputs of a case, contiguous, in the declared types, on the generator's device.

    Args:
        workload: declares the inputs.
        case: says how each is made.
        flavour: changes the values of the first random float.
        generator: draws the random ones.
        custom: the case's custom inputs by name.
    """
    sizes = workload.sizes(case)
    values = []
    twist = _TWISTS[flavour]
    for name, tensor in workload.inputs.items():
        source = case.inputs.get(name, RandomInput())
        shape = workload.shape(tensor, sizes)
        value = custom[name] if isinstance(source, CustomInput) else _draw(source, tensor, shape, generator)
        if isinstance(source, RandomInput) and value.is_floating_point():
            value, twist = twist(value, generator), _as_declared
        values.append(value.to(generator.device, TORCH_TYPES[tensor.dtype]).contiguous())
    return values


def _draw(
    source: Generator, tensor: Tensor, shape: tuple[int, ...], generator: torch.Generator
) -> torch.Tensor:
    match source:
        case ScalarInput():
            wide = torch.float64 if tensor.dtype.is_float else torch.int64
            return torch.full(shape, source.value, dtype=wide, device=generator.device)
        case RandomInput():
            drawn = _floats if tensor.dtype.is_float else _integers
            return drawn(source, tensor.dtype, shape, generator)
        case SafetensorsInput():
            return _recorded(source, tensor.dtype, shape)
    raise _refused(f"this judge cannot make {source.type} inputs")


def _recorded(source: SafetensorsInput, dtype: DType, shape: tuple[int, ...]) -> torch.Tensor:
    """A stranger's tensor: a bool has no third value, and NaN compares with nothing."""
    if not source.data:
        raise _refused(f"the recorded tensor {source.tensor_key} did not come along")
    try:
        content = bytearray(source.content(math.prod(shape) * ITEM_BYTES[dtype]))
    except ValueError as error:
        raise _refused(str(error)) from error
    if not content:
        return torch.empty(shape, dtype=TORCH_TYPES[dtype])
    raw = torch.frombuffer(content, dtype=torch.uint8)
    if dtype is DType.BOOL:
        return (raw != 0).reshape(shape)
    value = raw.view(TORCH_TYPES[dtype]).reshape(shape)
    if dtype.is_float and bool(value.isnan().any()):
        raise _refused(f"the recorded tensor {source.tensor_key} holds NaN")
    return value


def _integers(
    source: RandomInput, dtype: DType, shape: tuple[int, ...], generator: torch.Generator
) -> torch.Tensor:
    low, high = (0, 2) if dtype == "bool" else (0, 8) if dtype == "uint8" else (-8, 8)
    if source.low is not None and source.high is not None:
        low, high = source.low, source.high
    return torch.randint(low, high, shape, generator=generator, device=generator.device)


def _floats(
    source: RandomInput, dtype: DType, shape: tuple[int, ...], generator: torch.Generator
) -> torch.Tensor:
    device = generator.device
    match source.distribution:
        case "uniform":
            value = torch.rand(shape, generator=generator, device=device).mul_(2.0).sub_(1.0)
        case "heavy_tail":
            value = _heavy(torch.randn(shape, generator=generator, device=device), generator)
        case "cauchy":
            value = torch.empty(shape, device=device).cauchy_(generator=generator)
        case _:
            value = torch.randn(shape, generator=generator, device=device)
    return value.mul_(source.scale)


def _heavy(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Student's t with three degrees of freedom: normal over the root of a mean of three squares."""
    squares = torch.zeros_like(value)
    for _ in range(3):
        squares += torch.randn(value.shape, generator=generator, device=generator.device).square_()
    return value / squares.div_(3.0).sqrt_().clamp_(min=1e-3)


def _as_declared(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return value


def _with_zeros(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return value.masked_fill_(
        torch.rand(value.shape, generator=generator, device=generator.device) < 0.25, 0.0
    )


def _masked(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """-inf at one element in eight, but never over a whole row."""
    if value.ndim == 0:
        return value
    mask = torch.rand(value.shape, generator=generator, device=generator.device) < 0.125
    mask[..., :1] = False
    return value.masked_fill_(mask, -torch.inf)


_TWISTS: dict[Flavour, Callable[[torch.Tensor, torch.Generator], torch.Tensor]] = {
    Flavour.DECLARED: _as_declared,
    Flavour.HEAVY_TAIL: _heavy,
    Flavour.TINY: lambda value, generator: value.mul_(0.05),
    Flavour.LARGE: lambda value, generator: value.mul_(50.0),
    Flavour.ZEROS: _with_zeros,
    Flavour.MASKED: _masked,
}
