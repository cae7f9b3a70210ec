"""A workload: what a kernel must compute, on which cases, how exactly. JSON is a superset of FlashInfer-Trace.

`Workload` holds FlashInfer-Trace's Definition (name, axes, inputs, outputs, reference, constraints, tags)
and its Workloads as `cases`, plus what a judge needs: tolerance, policy, floor, baseline.
"""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, StringConstraints, model_validator

from search.records import Record, content_hash

_SHIPPED = Path(__file__).parent / "workloads"

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class DType(StrEnum):
    """Element types, FlashInfer-Trace's words."""

    FLOAT64 = "float64"
    FLOAT32 = "float32"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    INT64 = "int64"
    INT32 = "int32"
    INT8 = "int8"
    UINT8 = "uint8"
    BOOL = "bool"

    @property
    def is_float(self) -> bool:
        """Compared with a tolerance; everything else is compared exactly."""
        return self in {DType.FLOAT64, DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16}


ITEM_BYTES: dict[DType, int] = {
    DType.FLOAT64: 8,
    DType.FLOAT32: 4,
    DType.FLOAT16: 2,
    DType.BFLOAT16: 2,
    DType.INT64: 8,
    DType.INT32: 4,
    DType.INT8: 1,
    DType.UINT8: 1,
    DType.BOOL: 1,
}


class ConstAxis(Record):
    """An axis with one size."""

    type: Literal["const"] = "const"
    value: Annotated[int, Field(gt=0)]
    description: str = ""


class VarAxis(Record):
    """An axis whose size each case gives."""

    type: Literal["var"] = "var"
    description: str = ""


class ExprAxis(Record):
    """An axis computed from others by + - * // and parentheses (SOL-ExecBench)."""

    type: Literal["expr"] = "expr"
    expression: Annotated[str, StringConstraints(pattern=r"^[\w\s+\-*/()]+$", max_length=200)]
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


Generator = Annotated[RandomInput | ScalarInput, Field(discriminator="type")]


class Case(Record):
    """Sizes of the variable axes and how each input is made."""

    name: Name
    axes: dict[Name, Annotated[int, Field(gt=0)]]
    inputs: dict[Name, Generator] = {}
    """Missing inputs are drawn from a standard normal."""
    weight: Annotated[float, Field(gt=0)] = 1.0
    hidden: bool = False
    """Checked by the judge, never shown to an agent."""
    timed: bool = True


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
    op_type: Name
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

    def sizes(self, case: Case) -> dict[str, int]:
        """Every axis with its size in this case, in the workload's order.

        Raises:
            ValueError: an expression names an axis that is not known before it.
        """
        sizes: dict[str, int] = {}
        for name, axis in self.axes.items():
            match axis:
                case ConstAxis():
                    sizes[name] = axis.value
                case VarAxis():
                    sizes[name] = case.axes[name]
                case ExprAxis():
                    sizes[name] = evaluate_expression(axis.expression, sizes)
        return sizes

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


_TOKEN = re.compile(r"\s*(\d+|[A-Za-z_]\w*|//|[-+*()])")


def evaluate_expression(text: str, sizes: dict[str, int]) -> int:
    """Value of an integer expression over axis names with + - * // and parentheses.

    Raises:
        ValueError: the text is no such expression, or names an unknown axis.
    """
    tokens, position = [], 0
    text = text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if not match:
            raise ValueError(f"expression {text!r}: cannot read {text[position:]!r}")
        tokens.append(match.group(1))
        position = match.end()
    value, rest = _sum(tokens, sizes)
    if rest:
        raise ValueError(f"expression {text!r}: unexpected {rest[0]!r}")
    return value


def _sum(tokens: list[str], sizes: dict[str, int]) -> tuple[int, list[str]]:
    value, rest = _product(tokens, sizes)
    while rest and rest[0] in "+-":
        right, after = _product(rest[1:], sizes)
        value, rest = (value + right if rest[0] == "+" else value - right), after
    return value, rest


def _product(tokens: list[str], sizes: dict[str, int]) -> tuple[int, list[str]]:
    value, rest = _atom(tokens, sizes)
    while rest and rest[0] in ("*", "//"):
        right, after = _atom(rest[1:], sizes)
        if rest[0] == "//" and right == 0:
            raise ValueError("expression divides by zero")
        value, rest = (value * right if rest[0] == "*" else value // right), after
    return value, rest


def _atom(tokens: list[str], sizes: dict[str, int]) -> tuple[int, list[str]]:
    match tokens:
        case ["(", *rest]:
            value, after = _sum(rest, sizes)
            if after[:1] != [")"]:
                raise ValueError("expression: ) is missing")
            return value, after[1:]
        case [word, *rest] if word.isdigit():
            return int(word), rest
        case [word, *rest] if word in sizes:
            return sizes[word], rest
        case [word, *_]:
            raise ValueError(f"expression: {word!r} is not a number or an axis named before")
    raise ValueError("expression ends too early")
