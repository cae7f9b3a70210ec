"""A workload: what a kernel must compute, on which cases, how exactly. JSON is a superset of FlashInfer-Trace.

`Workload` holds FlashInfer-Trace's Definition (name, axes, inputs, outputs, reference, constraints, tags)
and its Workloads as `cases`, plus what a judge needs: tolerance, policy, floor, baseline. Fields that only
foreign formats fill are left out of the JSON while they are empty, so that they change no content hash.
"""

from __future__ import annotations

import base64
import zlib
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


class PlainComparator(Record):
    """Element by element: within the tolerance, or equal; or either of them after sorting each row."""

    type: Literal["close", "exact", "permutation"]


class TopkSet(Record):
    """Places of the largest elements along the last axis of an input; places of equal elements are as good."""

    type: Literal["topk_set"] = "topk_set"
    of: Name
    """The input."""
    ordered: bool = False
    """The largest comes first."""


class Residual(Record):
    """A solution X of `matrix` @ X = `right`, both inputs: what it leaves over counts, not X itself."""

    type: Literal["residual"] = "residual"
    matrix: Name
    right: Name


Comparator = Annotated[PlainComparator | TopkSet | Residual, Field(discriminator="type")]


class Tolerance(Record):
    """Allowed error of an element: `scale` · eps(dtype) · RMS of its row + `relative` · |reference|.

    Rows of fewer than 32 elements have the RMS of as many neighbours as make 32.
    """

    scale: Annotated[float, Field(gt=0)] = 32.0
    relative: Annotated[float, Field(ge=0)] = 1e-5
    frobenius: Annotated[float, Field(gt=0)] = 1e-3
    """Cap on ‖out - ref‖ / ‖ref‖."""


class Tensor(Record):
    """Shape over axis names and element type; `shape` None is a scalar."""

    shape: tuple[Name, ...] | None
    dtype: DType
    description: str = ""
    comparator: Annotated[Comparator | None, Field(exclude_if=lambda value: value is None)] = None
    """How an output is compared; floats are `close` and everything else is `exact` where nothing is said."""
    tolerance: Annotated[Tolerance | None, Field(exclude_if=lambda value: value is None)] = None
    """Of this output, where the workload's own is not meant for it: a float32 beside bfloat16 ones."""


class RandomInput(Record):
    """Values drawn by the judge from its secret seed."""

    type: Literal["random"] = "random"
    distribution: Literal["normal", "uniform", "heavy_tail", "cauchy"] = "normal"
    scale: Annotated[float, Field(gt=0)] = 1.0
    low: Annotated[int | None, Field(exclude_if=lambda value: value is None)] = None
    """Integers only: the smallest value."""
    high: Annotated[int | None, Field(exclude_if=lambda value: value is None)] = None
    """Integers only: one more than the largest value."""

    @model_validator(mode="after")
    def _has_a_range_or_none(self) -> Self:
        if (self.low is None) != (self.high is None):
            raise ValueError("low and high go together")
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ValueError(f"no integer is at least {self.low} and less than {self.high}")
        return self


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
    data: Annotated[str, Field(exclude_if=lambda value: not value)] = ""
    """The tensor's bytes, row by row, little endian: zlib, then base64. Empty where the file did not come along."""

    def packing(self, content: bytes) -> Self:
        """The same with the tensor's bytes."""
        return self.model_copy(update={"data": base64.b64encode(zlib.compress(content, 9)).decode()})

    def content(self, size: int) -> bytes:
        """The tensor's bytes.

        Args:
            size: how many there must be.

        Raises:
            ValueError: it is no packed tensor of this size; not more than `size` bytes are unpacked to find out.
        """
        stream = zlib.decompressobj()
        try:
            content = stream.decompress(base64.b64decode(self.data, validate=True), size + 1)
        except zlib.error as error:
            raise ValueError(f"{self.tensor_key}: the packed tensor is damaged") from error
        if len(content) != size or not stream.eof:
            raise ValueError(f"{self.tensor_key}: the packed tensor is not {size} bytes long")
        return content


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
    """What the format it came from allows; for this case it counts instead of the workload's own tolerance."""


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

    @model_validator(mode="after")
    def _comparators_fit(self) -> Self:
        for name, tensor in self.inputs.items():
            if tensor.comparator is not None or tensor.tolerance is not None:
                raise ValueError(f"input {name}: only outputs are compared")
        for name, tensor in self.outputs.items():
            if wrong := _misfit(tensor, self.inputs):
                raise ValueError(f"output {name}: {wrong}")
        return self

    @model_validator(mode="after")
    def _ranges_fit(self) -> Self:
        for case in self.cases:
            for name, source in case.inputs.items():
                ranged = isinstance(source, RandomInput) and source.low is not None
                if ranged and self.inputs[name].dtype.is_float:
                    raise ValueError(f"case {case.name}: {name} is no integer, so low and high say nothing")
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


def _misfit(output: Tensor, inputs: dict[str, Tensor]) -> str:
    """Why this output cannot be compared as it says, empty where it can."""
    comparator = output.comparator
    needed: tuple[str, ...] = ()
    if output.tolerance is not None and not output.dtype.is_float:
        return f"{output.dtype} is compared exactly, so it has no tolerance"
    match comparator:
        case PlainComparator(type="close") | Residual() if not output.dtype.is_float:
            return f"{output.dtype} has no tolerance, so it cannot be {comparator.type}"
        case TopkSet() if output.dtype not in (DType.INT32, DType.INT64):
            return f"{output.dtype} cannot be a place; topk_set takes int32 and int64"
        case TopkSet() | Residual() | PlainComparator(type="permutation") if not output.shape:
            return f"a scalar has no rows for {comparator.type}"
        case TopkSet():
            needed = (comparator.of,)
        case Residual():
            needed = (comparator.matrix, comparator.right)
    missing = [name for name in needed if name not in inputs]
    return f"there is no input {missing[0]} to compare it with" if missing else ""


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
