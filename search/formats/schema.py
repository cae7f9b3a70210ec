"""Records on the wire that FlashInfer-Trace and SOL-ExecBench share; SOL-ExecBench's additions are optional.

They keep what they do not know and remember which fields were given, so a document that was read is written
back as it was.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    model_validator,
)

from search.records import SOURCE_LIMIT_BYTES, EvaluationStatus, Record
from search.workload import CaseTolerance, CustomInput, DType, InnerPath, SafetensorsInput, Size

if TYPE_CHECKING:
    from collections.abc import Iterator

Text = Annotated[str, StringConstraints(min_length=1)]
Title = Annotated[str, StringConstraints(min_length=1, max_length=200)]


def _limited(text: str) -> str:
    if len(text.encode()) > SOURCE_LIMIT_BYTES:
        raise ValueError(f"longer than {SOURCE_LIMIT_BYTES} bytes")
    return text


Source = Annotated[Text, AfterValidator(_limited)]


class Wire(Record):
    """A foreign record; fields that nobody here reads are kept as extras."""

    model_config = ConfigDict(extra="allow")

    def document(self) -> dict[str, JsonValue]:
        """JSON with exactly the fields that were given."""
        document: dict[str, JsonValue] = self.model_dump(mode="json", exclude_unset=True)
        return document

    def unknown(self) -> list[str]:
        """Paths of the fields that nobody here reads."""
        return list(_extras(self, ""))


def _extras(value: object, path: str) -> Iterator[str]:
    if isinstance(value, BaseModel):
        yield from (f"{path}{name}" for name in value.model_extra or {})
        for name in type(value).model_fields:
            yield from _extras(getattr(value, name), f"{path}{name}.")
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _extras(inner, f"{path}{name}.")
    elif isinstance(value, tuple):
        for index, inner in enumerate(value):
            yield from _extras(inner, f"{path}{index}.")


class ConstSpec(Wire):
    """An axis with one size."""

    type: Literal["const"] = "const"
    value: Size
    description: str | None = None


class VarSpec(Wire):
    """An axis whose size each case gives."""

    type: Literal["var"] = "var"
    description: str | None = None


class ExprSpec(Wire):
    """An axis computed from others. SOL-ExecBench only."""

    type: Literal["expr"] = "expr"
    expression: Text
    description: str | None = None


AxisSpec = Annotated[ConstSpec | VarSpec | ExprSpec, Field(discriminator="type")]


class TensorSpec(Wire):
    """Shape over axis names; null is a Python scalar. SOL-ExecBench also takes literal sizes such as `"3"`."""

    shape: tuple[Text, ...] | None
    dtype: DType
    description: str | None = None


class Definition(Wire):
    """What is computed."""

    name: Title
    op_type: Text | None = None
    axes: dict[Text, AxisSpec]
    custom_inputs_entrypoint: Text | None = None
    inputs: dict[Text, TensorSpec]
    outputs: dict[Text, TensorSpec]
    reference: Source
    tags: tuple[Text, ...] | None = None
    description: str | None = None
    constraints: tuple[Text, ...] | None = None

    @model_validator(mode="after")
    def _names_agree(self) -> Self:
        if both := set(self.inputs) & set(self.outputs):
            raise ValueError(f"{min(both)} is an input and an output")
        for name, tensor in (self.inputs | self.outputs).items():
            for axis in tensor.shape or ():
                if axis not in self.axes and not axis.isdecimal():
                    raise ValueError(f"{name}: axis {axis} is not among the axes")
        for constraint in self.constraints or ():
            _parsed(constraint, "constraints", "eval")
        return self

    @model_validator(mode="after")
    def _functions_are_there(self) -> Self:
        module = _parsed(self.reference, "reference", "exec")
        body = module.body if isinstance(module, ast.Module) else []
        functions = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
        if "run" not in functions:
            raise ValueError("reference: it does not define a function `run`")
        taken = [
            argument.arg for argument in (*functions["run"].args.posonlyargs, *functions["run"].args.args)
        ]
        if len(taken) != len(self.inputs):
            raise ValueError(f"reference: `run` takes {len(taken)} arguments for {len(self.inputs)} inputs")
        entry = self.custom_inputs_entrypoint
        if entry is not None and entry not in functions:
            raise ValueError(f"custom_inputs_entrypoint: the reference does not define `{entry}`")
        return self


def _wrong_count(arguments: ast.arguments, inputs: int) -> str:
    most = len(arguments.posonlyargs) + len(arguments.args)
    least = most - len(arguments.defaults)
    if least <= inputs and (inputs <= most or arguments.vararg):
        return ""
    return f"`run` takes {most} arguments for {inputs} inputs"


def _parsed(text: str, field: str, mode: Literal["eval", "exec"]) -> ast.AST:
    try:
        return ast.parse(text, mode=mode)
    except SyntaxError as error:
        raise ValueError(f"{field}: line {error.lineno} is not Python: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"{field}: it cannot be read as Python") from error


class RandomSpec(Wire):
    """Random values."""

    type: Literal["random"] = "random"


class ScalarSpec(Wire):
    """One value."""

    type: Literal["scalar"] = "scalar"
    value: float | int | bool


class SafetensorsSpec(SafetensorsInput):
    """A recorded tensor."""

    model_config = ConfigDict(extra="allow")

    data: Literal[""] = ""
    """Only files bring content."""


class CustomSpec(CustomInput):
    """Made by the definition's entry point. SOL-ExecBench only."""

    model_config = ConfigDict(extra="allow")


InputSpec = Annotated[RandomSpec | ScalarSpec | SafetensorsSpec | CustomSpec, Field(discriminator="type")]


class ToleranceSpec(CaseTolerance):
    """Allowed error of a case. SOL-ExecBench only."""

    model_config = ConfigDict(extra="allow")


class WorkloadSpec(Wire):
    """One case of a definition."""

    axes: dict[Text, Size]
    inputs: dict[Text, InputSpec]
    uuid: Title
    tolerance: Annotated[
        ToleranceSpec | None, Field(validation_alias=AliasChoices("tolerance", "correctness"))
    ] = None
    """SOL-ExecBench only; its first releases said `correctness`."""

    @model_validator(mode="after")
    def _all_or_none_custom(self) -> Self:
        custom = [isinstance(source, CustomSpec) for source in self.inputs.values()]
        if any(custom) and not all(custom):
            raise ValueError("inputs: either all inputs of a workload are custom, or none")
        return self


class SourceSpec(Wire):
    """One file of a program."""

    path: InnerPath
    content: Source


class BuildSpec(Wire):
    """How a program is built and called; each format adds how it names languages."""

    target_hardware: Annotated[tuple[str, ...], Field(min_length=1)]
    entry_point: Annotated[str, StringConstraints(pattern=r"^[^:]+::[^:]+$")]
    """`path::function`."""
    dependencies: tuple[Text, ...] | None = None
    destination_passing_style: bool = True
    """Outputs are passed as last arguments; otherwise they are returned."""

    @property
    def entry_path(self) -> str:
        """File of the entry point."""
        return self.entry_point.split("::")[0]

    @property
    def entry_name(self) -> str:
        """Function of the entry point."""
        return self.entry_point.split("::")[1]


class Solution(Wire):
    """A program for a definition."""

    name: Title
    definition: Text
    author: Text
    spec: BuildSpec
    sources: Annotated[tuple[SourceSpec, ...], Field(min_length=1)]
    description: str | None = None

    @model_validator(mode="after")
    def _entry_is_there(self) -> Self:
        paths = [source.path for source in self.sources]
        if len(set(paths)) != len(paths):
            raise ValueError("sources: two files share a path")
        if self.spec.entry_path not in paths:
            raise ValueError(f"spec.entry_point: {self.spec.entry_path} is not among the sources")
        return self


SEVEN = (
    EvaluationStatus.PASSED,
    EvaluationStatus.INCORRECT_SHAPE,
    EvaluationStatus.INCORRECT_NUMERICAL,
    EvaluationStatus.INCORRECT_DTYPE,
    EvaluationStatus.RUNTIME_ERROR,
    EvaluationStatus.COMPILE_ERROR,
    EvaluationStatus.TIMEOUT,
)
"""The statuses that FlashInfer-Trace has."""


def _one_of_seven(status: EvaluationStatus) -> EvaluationStatus:
    if status not in SEVEN:
        raise ValueError(f"{status} is none of {', '.join(SEVEN)}")
    return status


ErrorMetric = Annotated[float, Field(ge=0)] | Literal["NaN", "Infinity"]
"""A largest error; the format spells numbers that are none as words."""
Metric = Annotated[float, Field(ge=0)]


class CorrectnessSpec(Wire):
    """Largest errors seen."""

    max_relative_error: ErrorMetric = 0.0
    max_absolute_error: ErrorMetric = 0.0
    extra: dict[str, JsonValue] | None = None


class PerformanceSpec(Wire):
    """Times and their ratio."""

    latency_ms: Metric = 0.0
    reference_latency_ms: Metric = 0.0
    speedup_factor: Metric = 0.0


class EnvironmentSpec(Wire):
    """Where it was measured."""

    hardware: Text
    libs: dict[str, str] = {}


class EvaluationSpec(Wire):
    """A result. Errors go with PASSED and INCORRECT_NUMERICAL, a time with PASSED only."""

    status: Annotated[EvaluationStatus, AfterValidator(_one_of_seven)]
    environment: EnvironmentSpec
    timestamp: Text
    log: str = ""
    correctness: CorrectnessSpec | None = None
    performance: PerformanceSpec | None = None

    @model_validator(mode="after")
    def _metrics_fit_status(self) -> Self:
        compared = self.status in (EvaluationStatus.PASSED, EvaluationStatus.INCORRECT_NUMERICAL)
        for name, wanted in (
            ("correctness", compared),
            ("performance", self.status is EvaluationStatus.PASSED),
        ):
            if (getattr(self, name) is not None) is not wanted:
                raise ValueError(f"{name}: {self.status} {'needs' if wanted else 'must not carry'} it")
        return self


class Trace(Wire):
    """A result of a solution on a case, or a case alone."""

    definition: Text
    workload: WorkloadSpec
    solution: Text | None = None
    evaluation: EvaluationSpec | None = None

    @model_validator(mode="after")
    def _result_or_case(self) -> Self:
        if (self.solution is None) is not (self.evaluation is None):
            raise ValueError("solution and evaluation: give both or neither")
        return self
