"""A workload: what a kernel must compute, on which cases, how exactly. JSON is a superset of FlashInfer-Trace.

`Workload` holds FlashInfer-Trace's Definition (name, axes, inputs, outputs, reference, constraints, tags)
and its Workloads as `cases`, plus what a judge needs: tolerance, policy, floor, baseline. Fields that only
foreign formats fill are left out of the JSON while they are empty, so that they change no content hash.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, JsonValue, StringConstraints, model_validator

from search.expressions import evaluate_expression as evaluate_expression
from search.records import Record, content_hash

_SHIPPED = Path(__file__).parent / "workloads"

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class DType(StrEnum):
    """Element types, FlashInfer-Trace's words."""

    FLOAT64 = "float64"
    FLOAT32 = "float32"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    FLOAT8_E4M3FN = "float8_e4m3fn"
    FLOAT8_E5M2 = "float8_e5m2"
    FLOAT4_E2M1FN_X2 = "float4_e2m1fn_x2"
    """Two values in a byte; an element is the byte."""
    INT64 = "int64"
    INT32 = "int32"
    INT16 = "int16"
    INT8 = "int8"
    UINT8 = "uint8"
    BOOL = "bool"

    @property
    def is_float(self) -> bool:
        """Compared with a tolerance; everything else is compared exactly."""
        return self.startswith(("float", "bfloat")) and self is not DType.FLOAT4_E2M1FN_X2


ITEM_BYTES: dict[DType, int] = {
    DType.FLOAT64: 8,
    DType.FLOAT32: 4,
    DType.FLOAT16: 2,
    DType.BFLOAT16: 2,
    DType.FLOAT8_E4M3FN: 1,
    DType.FLOAT8_E5M2: 1,
    DType.FLOAT4_E2M1FN_X2: 1,
    DType.INT64: 8,
    DType.INT32: 4,
    DType.INT16: 2,
    DType.INT8: 1,
    DType.UINT8: 1,
    DType.BOOL: 1,
}


Size = Annotated[int, Field(ge=0, le=1 << 40)]
"""Elements along an axis; an empty batch is zero."""


class ConstAxis(Record):
    """An axis with one size."""

    type: Literal["const"] = "const"
    value: Size
    description: str = ""


class VarAxis(Record):
    """An axis whose size each case gives."""

    type: Literal["var"] = "var"
    description: str = ""


class ExprAxis(Record):
    """An axis computed from constant and variable ones, and from computed ones before it (SOL-ExecBench)."""

    type: Literal["expr"] = "expr"
    expression: Annotated[str, StringConstraints(pattern=r"^[\w\s+\-*/%().]+$", max_length=200)]
    description: str = ""


Axis = Annotated[ConstAxis | VarAxis | ExprAxis, Field(discriminator="type")]


class Tensor(Record):
    """Shape over axis names and element type; `shape` None is a scalar."""

    shape: tuple[Name, ...] | None
    dtype: DType
    description: str = ""


class RandomInput(Record):
    """Values drawn by the judge from its secret seed."""

    type: Literal["random"] = "random"
    distribution: Literal["normal", "uniform", "heavy_tail"] = "normal"
    scale: Annotated[float, Field(gt=0)] = 1.0


class ScalarInput(Record):
    """One given value."""

    type: Literal["scalar"] = "scalar"
    value: float | int | bool


def _stays_inside(path: str) -> str:
    """The path itself; ValueError when it could lead out of the folder it is relative to."""
    if not path.isprintable() or "\\" in path or ":" in path:
        raise ValueError(f"path {path!r} holds a character that no relative path needs")
    if PurePosixPath(path).is_absolute() or ".." in path.split("/") or not path.strip("./"):
        raise ValueError(f"path {path!r} leads out of its folder")
    return path


InnerPath = Annotated[str, AfterValidator(_stays_inside)]
"""A relative path with forward slashes that stays in its folder."""


class SafetensorsInput(Record):
    """A recorded tensor."""

    type: Literal["safetensors"] = "safetensors"
    path: InnerPath
    """Relative to the folder or archive that the workload came from."""
    tensor_key: Annotated[str, StringConstraints(min_length=1)]


class CustomInput(Record):
    """Made by the workload's `custom_inputs_entrypoint` together with all other custom inputs of the case."""

    type: Literal["custom"] = "custom"


Generator = Annotated[RandomInput | ScalarInput | SafetensorsInput | CustomInput, Field(discriminator="type")]


class CaseTolerance(Record):
    """Allowed error of one case in SOL-ExecBench's words: |out - ref| <= max_atol + max_rtol * |ref|."""

    max_atol: Annotated[float, Field(ge=0)] = 1e-2
    max_rtol: Annotated[float, Field(ge=0)] = 1e-2
    required_matched_ratio: Annotated[float, Field(ge=0, le=1)] = 1.0
    """Share of elements that must be within the bound."""
    max_error_cap: Annotated[float, Field(ge=0)] | None = None
    """No element at all may be further off than this."""
    allow_negative_inf: Annotated[bool, Field(exclude_if=lambda value: not value)] = False
    """-inf in both places counts as equal."""


class Case(Record):
    """Sizes of the variable axes and how each input is made."""

    name: Name
    axes: dict[Name, Size]
    inputs: dict[Name, Generator] = {}
    """Missing inputs are drawn from a standard normal."""
    weight: Annotated[float, Field(gt=0)] = 1.0
    hidden: bool = False
    """Checked by the judge, never shown to an agent."""
    timed: bool = True
    uuid: Annotated[str, Field(exclude_if=lambda value: not value)] = ""
    """Name in the format it came from."""
    tolerance: Annotated[CaseTolerance | None, Field(exclude_if=lambda value: value is None)] = None
    """What the format it came from allows; the workload's own tolerance stands beside it."""


class Tolerance(Record):
    """Allowed error of an element: `scale` · eps(dtype) · RMS of its row + `relative` · |reference|."""

    scale: Annotated[float, Field(gt=0)] = 32.0
    relative: Annotated[float, Field(ge=0)] = 1e-5
    frobenius: Annotated[float, Field(gt=0)] = 1e-3
    """Cap on ‖out - ref‖ / ‖ref‖."""


class Policy(Record):
    """What a candidate may do."""

    torch_ops: bool = False
    tf32: bool = False
    deterministic: bool = True


class Floor(Record):
    """Lower bound of work, as expressions over axes; default: every input read once, every output written once."""

    bytes: str | None = None
    operations: str | None = None


class Workload(Record):
    """An immutable workload version; its identity is its content hash."""

    name: Name
    title: str
    description: str = ""
    op_type: Annotated[str, StringConstraints(pattern=r"^([A-Za-z_][A-Za-z0-9_]*)?$")]
    """Family of operations; empty when the format it came from does not say."""
    tags: tuple[str, ...] = ()
    axes: dict[Name, Axis]
    inputs: dict[Name, Tensor]
    outputs: Annotated[dict[Name, Tensor], Field(min_length=1)]
    constraints: tuple[str, ...] = ()
    reference: str
    """Python source with `run(*inputs)` returning the outputs in order (torch)."""
    cases: Annotated[tuple[Case, ...], Field(min_length=1)]
    tolerance: Tolerance = Tolerance()
    policy: Policy = Policy()
    floor: Floor = Floor()
    baseline: Literal["torch_eager"] = "torch_eager"
    custom_inputs_entrypoint: Annotated[Name | None, Field(exclude_if=lambda value: value is None)] = None
    """Function of the reference that takes the axes by name and a device, and returns the custom inputs by name."""

    @property
    def hash(self) -> str:
        """Content hash of the version."""
        return content_hash(self.dump())

    @model_validator(mode="after")
    def _names_agree(self) -> Self:
        for kind, tensors in (("input", self.inputs), ("output", self.outputs)):
            for name, tensor in tensors.items():
                for axis in tensor.shape or ():
                    if axis not in self.axes:
                        raise ValueError(f"{kind} {name}: axis {axis} is not among the axes")
        variable = {name for name, axis in self.axes.items() if isinstance(axis, VarAxis)}
        names = [case.name for case in self.cases]
        if len(set(names)) != len(names):
            raise ValueError("cases: two cases share a name")
        for case in self.cases:
            if set(case.axes) != variable:
                raise ValueError(f"case {case.name}: axes must be exactly {sorted(variable)}")
            if unknown := set(case.inputs) - set(self.inputs):
                raise ValueError(f"case {case.name}: unknown inputs {sorted(unknown)}")
        return self

    @model_validator(mode="after")
    def _cases_can_be_made(self) -> Self:
        for case in self.cases:
            self.sizes(case)
            custom = [name for name, source in case.inputs.items() if isinstance(source, CustomInput)]
            if custom and self.custom_inputs_entrypoint is None:
                raise ValueError(f"case {case.name}: {custom[0]} is custom, but no entry point makes it")
        return self

    def sizes(self, case: Case) -> dict[str, int]:
        """Every axis with its size in this case, in the workload's order.

        Raises:
            ValueError: an expression names an axis that is not known before it, or is no size.
        """
        known: dict[str, int] = dict(case.axes)
        for name, axis in self.axes.items():
            if isinstance(axis, ConstAxis):
                known[name] = axis.value
        for name, axis in self.axes.items():
            if isinstance(axis, ExprAxis):
                known[name] = evaluate_expression(axis.expression, known)
                if known[name] < 0:
                    raise ValueError(f"case {case.name}: axis {name} is {known[name]}")
        return {name: known[name] for name in self.axes}

    def shape(self, tensor: Tensor, sizes: dict[str, int]) -> tuple[int, ...]:
        """Concrete shape; a scalar is `()`."""
        return tuple(sizes[axis] for axis in tensor.shape or ())

    def public(self) -> dict[str, JsonValue]:
        """What an agent may see: everything but the hidden cases."""
        shown = tuple(case for case in self.cases if not case.hidden)
        return self.model_copy(update={"cases": shown}).dump()


def shipped_workloads() -> dict[str, Workload]:
    """Workloads that come with the package, by slug."""
    return {file.stem: shipped_workload(file.stem) for file in sorted(_SHIPPED.glob("*.json"))}


def shipped_workload(slug: str) -> Workload:
    """One shipped workload.

    Raises:
        KeyError: there is no such workload.
    """
    file = _SHIPPED / f"{slug}.json"
    if not slug.isidentifier() or not file.is_file():
        raise KeyError(f"no shipped workload {slug!r}")
    return Workload.model_validate_json(file.read_text("utf-8"))
