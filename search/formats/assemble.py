"""From the shapes that were read in a program to a workload: names for sizes, formulas for sizes that follow from them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from search.expressions import evaluate_expression
from search.formats.convert import identifier
from search.formats.reading import validate
from search.formats.shapes.values import Array, Size, Unread, text_of
from search.formats.tolerances import fitted
from search.workload import CustomInput, DType, RandomInput, ScalarInput, Tensor, Workload

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import JsonValue

    from search.formats.format import Notes
    from search.workload import CaseTolerance

_LONGEST_FORMULA = 200
Number = int | float | bool


@dataclass(frozen=True)
class Sighting:
    """One case as it was read."""

    name: str
    sizes: Mapping[str, int]
    """Named sizes, of which some vary from case to case."""
    inputs: Mapping[str, object]
    """Tensors and numbers by name, in the order of the arguments."""
    outputs: Sequence[Array]
    timed: bool = True
    tolerance: CaseTolerance | None = None
    custom: frozenset[str] = frozenset()
    """Inputs that the program makes by itself."""


@dataclass
class Program:
    """All that becomes one workload."""

    name: str
    where: str
    description: str
    reference: str
    sightings: Sequence[Sighting]
    fixed: frozenset[str] = frozenset()
    """Named sizes that are the same in every case."""
    entrypoint: str | None = None
    tags: tuple[str, ...] = ()
    axes: dict[str, JsonValue] = field(default_factory=dict)
    formulas: dict[str, str] = field(default_factory=dict)


def assemble(program: Program, notes: Notes) -> Workload:
    """The workload.

    Raises:
        Unread: a size that changes from case to case in a way that no formula tells.
        FormatError: what was read does not fit our records.
    """
    first = program.sightings[0]
    for name, size in first.sizes.items():
        constant = name in program.fixed
        program.axes[name] = {"type": "const", "value": int(size)} if constant else {"type": "var"}
    inputs = {name: _input(program, name) for name in first.inputs}
    outputs = {
        name: _tensor(program, name, [case.outputs[place] for case in program.sightings])
        for place, name in enumerate(output_names(first))
    }
    document: dict[str, JsonValue] = {
        "name": identifier(program.name),
        "title": program.name,
        "description": program.description,
        "op_type": "",
        "tags": list(program.tags),
        "axes": _used(program, (*inputs.values(), *outputs.values())),
        "inputs": {name: tensor.dump() for name, tensor in inputs.items()},
        "outputs": {name: tensor.dump() for name, tensor in outputs.items()},
        "reference": program.reference,
        "cases": [_case(program, case) for case in program.sightings],
    }
    if program.entrypoint is not None:
        document["custom_inputs_entrypoint"] = program.entrypoint
    workload = fitted(validate(Workload, document, program.where))
    notes.take(program.where, f"workload {workload.name} with {len(workload.cases)} cases")
    return workload


def output_names(sighting: Sighting) -> list[str]:
    """Names of the outputs, different from those of the inputs."""
    count = len(sighting.outputs)
    names = ["output"] if count == 1 else [f"output_{place}" for place in range(count)]
    return [f"{name}_" if name in sighting.inputs else name for name in names]


def _used(program: Program, tensors: Sequence[Tensor]) -> JsonValue:
    """Axes that some shape, or the formula of an axis, needs; and those by which cases differ."""
    needed = {axis for tensor in tensors for axis in tensor.shape or ()}
    for axis in list(needed):
        needed |= set(re.findall(r"[A-Za-z_]\w*", program.formulas.get(axis, "")))
    fixed = {name for name in program.fixed if name not in needed}
    return {name: axis for name, axis in program.axes.items() if name not in fixed}


def _input(program: Program, name: str) -> Tensor:
    values = [case.inputs[name] for case in program.sightings]
    arrays = [value for value in values if isinstance(value, Array)]
    if len(arrays) == len(values):
        return _tensor(program, name, arrays)
    if arrays:
        raise Unread(f"{name} is a tensor in some cases only")
    return Tensor(shape=None, dtype=_number_type(values))


def _number_type(values: Sequence[object]) -> DType:
    if all(isinstance(value, bool) for value in values):
        return DType.BOOL
    return DType.INT64 if all(isinstance(value, int) for value in values) else DType.FLOAT32


def _tensor(program: Program, name: str, arrays: Sequence[Array]) -> Tensor:
    if len({(len(array.shape), array.dtype) for array in arrays}) > 1:
        raise Unread(f"{name} has another rank or type in other cases")
    rank = len(arrays[0].shape)
    shape = [_axis(program, f"{name}_{place}", [a.shape[place] for a in arrays]) for place in range(rank)]
    return Tensor(shape=tuple(shape), dtype=arrays[0].dtype)


def _axis(program: Program, wish: str, sizes: Sequence[int]) -> str:
    """Name of the axis of a dimension; a new one where none is the same in every case."""
    texts = {text_of(size) for size in sizes}
    text = texts.pop()
    if not texts and isinstance(sizes[0], Size) and _holds(program, text, sizes):
        if text in program.axes:
            return text
        known = next((axis for axis, formula in program.formulas.items() if formula == text), None)
        return known or _new_axis(program, wish, text)
    if len({int(size) for size in sizes}) > 1:
        raise Unread(f"the size {wish}, which is {', '.join(str(int(size)) for size in sizes[:4])}")
    name = f"_{int(sizes[0])}"
    program.axes[name] = {"type": "const", "value": int(sizes[0])}
    return name


def _new_axis(program: Program, wish: str, text: str) -> str:
    while wish in program.axes:
        wish += "_"
    formula = text[1:-1] if text.startswith("(") else text
    program.axes[wish] = {"type": "expr", "expression": formula}
    program.formulas[wish] = text
    return wish


def _holds(program: Program, text: str, sizes: Sequence[int]) -> bool:
    """Whether the formula is short and gives these sizes."""
    if len(text) > _LONGEST_FORMULA:
        return False
    try:
        found = [evaluate_expression(text, dict(case.sizes)) for case in program.sightings]
    except ValueError:
        return False
    return found == [int(size) for size in sizes]


def _case(program: Program, case: Sighting) -> JsonValue:
    made: dict[str, JsonValue] = {
        "name": identifier(case.name),
        "axes": {name: int(size) for name, size in case.sizes.items() if name not in program.fixed},
        "inputs": {name: _made(case, name) for name in case.inputs},
        "timed": case.timed,
    }
    if case.tolerance is not None:
        made["tolerance"] = case.tolerance.dump()
    return made


def _made(case: Sighting, name: str) -> JsonValue:
    value = case.inputs[name]
    if isinstance(value, int | float):
        plain = value if isinstance(value, bool | float) else int(value)
        return ScalarInput(value=plain).dump()
    if name in case.custom:
        return CustomInput().dump()
    drawn = value.drawn if isinstance(value, Array) else None
    return (drawn or RandomInput()).dump()
