"""A definition with its cases to a `Workload`, and back.

What the other side cannot say is noted. Names that are no identifiers keep their spelling in `title` and `uuid`,
literal sizes become constant axes, and a case without a single output element is not timed.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import JsonValue

from search.formats.format import FormatError, Notes
from search.formats.reading import validate
from search.formats.schema import CustomSpec, Definition, VarSpec, WorkloadSpec
from search.formats.tolerances import OF_TYPE, fitted
from search.workload import (
    Case,
    ConstAxis,
    DType,
    Floor,
    Policy,
    RandomInput,
    Tensor,
    Tolerance,
    Workload,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pydantic import BaseModel


@dataclass(frozen=True)
class Found:
    """A case and where it was read."""

    source: str
    line: int
    spec: WorkloadSpec

    @property
    def where(self) -> str:
        """File and line."""
        return f"{self.source}:{self.line}"


def identifier(name: str) -> str:
    """The name with everything replaced that our names do not take."""
    made = re.sub(r"\W", "_", name, flags=re.ASCII)
    return made if made and not made[0].isdecimal() else f"_{made}"


def workload_of(definition: Definition, source: str, cases: Sequence[Found], notes: Notes) -> Workload:
    """A workload from a definition and at least one case.

    Raises:
        FormatError: they do not fit together, or say what our records cannot.
    """
    if not cases:
        raise FormatError("no case: a definition without workloads cannot be measured", source)
    for field in definition.unknown():
        notes.drop(source, f"{field} is not a field of the format")
    _check_cases(definition, cases)
    axes: dict[str, JsonValue] = {name: _plain(axis) for name, axis in definition.axes.items()}
    document: dict[str, JsonValue] = {
        "name": identifier(definition.name),
        "title": definition.name,
        "op_type": definition.op_type or "",
        "axes": axes | _literal_axes(definition),
        "inputs": {name: _tensor(spec) for name, spec in definition.inputs.items()},
        "outputs": {name: _tensor(spec) for name, spec in definition.outputs.items()},
        "cases": [_case(definition, found, notes) for found in cases],
    }
    for name in ("description", "tags", "constraints", "reference", "custom_inputs_entrypoint"):
        if value := definition.document().get(name):
            document[name] = value
    return _untimed_where_empty(fitted(validate(Workload, document, source)), notes)


def _check_cases(definition: Definition, cases: Sequence[Found]) -> None:
    variable = {name for name, axis in definition.axes.items() if isinstance(axis, VarSpec)}
    seen: dict[str, str] = {}
    for found in cases:
        spec, source, line = found.spec, found.source, found.line
        if set(spec.axes) != variable:
            raise FormatError(f"the sizes must be those of {sorted(variable)}", source, line, "axes")
        if unknown := set(spec.inputs) - set(definition.inputs):
            raise FormatError(f"{min(unknown)} is no input of {definition.name}", source, line, "inputs")
        custom = any(isinstance(made, CustomSpec) for made in spec.inputs.values())
        if custom and definition.custom_inputs_entrypoint is None:
            raise FormatError("custom, but the definition names no entry point", source, line, "inputs")
        name = identifier(spec.uuid)
        if name in seen:
            raise FormatError(f"{spec.uuid} is the name of {seen[name]} as well", source, line, "uuid")
        seen[name] = found.where


def _case(definition: Definition, found: Found, notes: Notes) -> JsonValue:
    spec = found.spec
    for field in spec.unknown():
        notes.drop(found.where, f"{field} is not a field of the format")
    if missing := [name for name in definition.inputs if name not in spec.inputs]:
        notes.change(found.where, f"{', '.join(missing)}: not described, so drawn at random")
    case: dict[str, JsonValue] = {
        "name": identifier(spec.uuid),
        "axes": dict[str, JsonValue](spec.axes),
        "inputs": {name: _plain(made) for name, made in spec.inputs.items()},
    }
    if case["name"] != spec.uuid:
        case["uuid"] = spec.uuid
    if spec.tolerance is not None:
        case["tolerance"] = _plain(spec.tolerance)
    return case


def _plain(spec: BaseModel) -> dict[str, JsonValue]:
    """Fields that the format has, without those that are null."""
    document: dict[str, JsonValue] = spec.model_dump(mode="json", include=set(type(spec).model_fields))
    return {name: value for name, value in document.items() if value is not None}


def _tensor(spec: BaseModel) -> JsonValue:
    document = _plain(spec)
    shape = document.get("shape")
    names = (
        [f"_{axis}" if str(axis).isdecimal() else axis for axis in shape] if isinstance(shape, list) else None
    )
    return document | {"shape": names}


def _literal_axes(definition: Definition) -> dict[str, JsonValue]:
    """SOL-ExecBench allows `"3"` in a shape: an axis `_3` of that size.

    Raises:
        FormatError: the name is taken by something else.
    """
    found: dict[str, JsonValue] = {}
    for name, tensor in (definition.inputs | definition.outputs).items():
        for axis in tensor.shape or ():
            if not axis.isdecimal():
                continue
            if f"_{axis}" in definition.axes or not axis.isascii() or str(int(axis)) != axis:
                raise FormatError(f"the literal size {axis} cannot become an axis", field=f"{name}.shape")
            found[f"_{axis}"] = {"type": "const", "value": int(axis)}
    return found


def is_empty(workload: Workload, case: Case) -> bool:
    """Whether some output has no element in this case, so that there is nothing to time."""
    sizes = workload.sizes(case)
    return any(math.prod(workload.shape(output, sizes)) == 0 for output in workload.outputs.values())


def _untimed_where_empty(workload: Workload, notes: Notes) -> Workload:
    cases = []
    for case in workload.cases:
        empty = is_empty(workload, case)
        if empty:
            notes.change(f"{workload.name}.{case.name}", "an output is empty: checked, but not timed")
        cases.append(case.model_copy(update={"timed": False}) if empty else case)
    return workload.model_copy(update={"cases": tuple(cases)})


# Back ----------------------------------------------------------------------------------------------------


def foreign_name(workload: Workload) -> str:
    """Name of the definition that the workload came from or will become."""
    return workload.title if identifier(workload.title) == workload.name else workload.name


def file_stem(workload: Workload) -> str:
    """Name of a file or folder: that which it came from, where it can be one."""
    return workload.title if re.fullmatch(r"\w[\w.-]{0,199}", workload.title, re.ASCII) else workload.name


def definition_of(workload: Workload, notes: Notes, *, literals: bool) -> Definition:
    """The definition; what it cannot say is noted.

    Args:
        workload: to be written.
        notes: takes what is lost.
        literals: constant axes called `_3` are written as the literal size `"3"`.
    """
    shown = {name for name, axis in workload.axes.items() if literals and _is_literal(name, axis)}
    document: dict[str, JsonValue] = {"name": foreign_name(workload)}
    if workload.op_type:
        document["op_type"] = workload.op_type
    document["axes"] = {name: _given(axis) for name, axis in workload.axes.items() if name not in shown}
    if workload.custom_inputs_entrypoint is not None:
        document["custom_inputs_entrypoint"] = workload.custom_inputs_entrypoint
    for kind, tensors in (("inputs", workload.inputs), ("outputs", workload.outputs)):
        document[kind] = {name: _tensor_back(tensor, shown) for name, tensor in tensors.items()}
    document["reference"] = workload.reference
    for name in ("tags", "description", "constraints"):
        if value := workload.dump()[name]:
            document[name] = value
    _note_lost(workload, notes)
    return validate(Definition, document, workload.name)


def _is_literal(name: str, axis: object) -> bool:
    return isinstance(axis, ConstAxis) and name == f"_{axis.value}" and not axis.description


def _given(record: BaseModel) -> dict[str, JsonValue]:
    """Everything but empty descriptions."""
    document: dict[str, JsonValue] = record.model_dump(mode="json", exclude={"comparator", "tolerance"})
    return {name: value for name, value in document.items() if name != "description" or value}


def _tensor_back(tensor: Tensor, literals: Collection[str]) -> JsonValue:
    if tensor.shape is None:
        return _given(tensor)
    return _given(tensor) | {"shape": [axis[1:] if axis in literals else axis for axis in tensor.shape]}


def _note_lost(workload: Workload, notes: Notes) -> None:
    if foreign_name(workload) != workload.title:
        notes.drop(workload.name, "the title")
    for field, plain in (("tolerance", Tolerance()), ("policy", Policy()), ("floor", Floor())):
        if getattr(workload, field) != plain:
            notes.drop(workload.name, f"the {field}")
    for name, output in workload.outputs.items():
        if output.comparator is not None:
            notes.drop(workload.name, f"{name} is compared as {output.comparator.type}")
        if output.tolerance not in (None, OF_TYPE.get(output.dtype)):
            notes.drop(workload.name, f"the tolerance of {name}")


def specs_of(workload: Workload, notes: Notes) -> list[WorkloadSpec]:
    """The cases; hidden ones stay here, since an export is read by anybody."""
    if hidden := sum(case.hidden for case in workload.cases):
        notes.drop(workload.name, f"{hidden} hidden cases")
    return [_spec(workload, case, notes) for case in workload.cases if not case.hidden]


def _spec(workload: Workload, case: Case, notes: Notes) -> WorkloadSpec:
    where = f"{workload.name}.{case.name}"
    if case.weight != 1.0 or (not case.timed and not is_empty(workload, case)):
        notes.drop(where, "its weight, and whether it is timed")
    inputs: dict[str, JsonValue] = {}
    for name in workload.inputs:
        made = case.inputs.get(name, RandomInput())
        inputs[name] = {field: value for field, value in made.dump().items() if field != "data"}
        if isinstance(made, RandomInput):
            inputs[name] = {"type": "random"}
            if made != RandomInput():
                notes.drop(where, f"{name} is {made.distribution} of scale {made.scale:g}")
    document: dict[str, JsonValue] = {
        "uuid": case.uuid or case.name,
        "axes": dict[str, JsonValue](case.axes),
        "inputs": inputs,
    }
    if case.tolerance is not None:
        document["tolerance"] = _plain(case.tolerance)
    return validate(WorkloadSpec, document, where)


def check_types(workload: Workload, allowed: Collection[DType], title: str) -> None:
    """Refuse element types that a format does not have.

    Raises:
        FormatError: names the tensor.
    """
    for name, tensor in (workload.inputs | workload.outputs).items():
        if tensor.dtype not in allowed:
            raise FormatError(f"{title} has no {tensor.dtype}", workload.name, field=f"{name}.dtype")
