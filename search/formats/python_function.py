"""A Python function, or an `nn.Module`, with examples of its inputs: a file `NAME.py` beside `NAME.inputs.json`.

    {"function": "rms_norm", "cases": [{"name": "main", "inputs": {"x": {"shape": [256, 2048], "dtype": "float16"}}}]}
    {"module": "Block", "init": [256, 1024], "cases": [...]}

A size that is a word names an axis and is found under the case's `sizes`; sizes that are numbers get axes by
themselves, one for those that are equal in every case. The file is read and never executed.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field, JsonValue, StringConstraints, model_validator

from search.formats.assemble import Program, Sighting, assemble
from search.formats.convert import identifier
from search.formats.format import Collection, Format, FormatError, Notes, add_file
from search.formats.kernelbench import as_drawn, weight_names
from search.formats.probes import Probe, asked
from search.formats.python_text import check_count, check_source, outside, parsed
from search.formats.reading import check_paths, json_file, read_record
from search.formats.shapes import Array, Size, Unread, read_module
from search.formats.templates import MARK, function_reference, module_reference
from search.records import Record
from search.workload import DType, Name, RandomInput, ScalarInput, Workload
from search.workload import Size as Length

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from search.formats.format import Files, Report
    from search.formats.probes import Probed
    from search.workload import Case

TITLE = "a Python function with example inputs"
NAME = "python_function"
_ENDING = ".inputs.json"


class Example(Record):
    """A tensor of random values."""

    shape: Annotated[tuple[Length | Name, ...], Field(max_length=16)]
    dtype: DType = DType.FLOAT32
    distribution: Annotated[str, StringConstraints(pattern="^(normal|uniform|heavy_tail|cauchy)$")] = "normal"
    scale: Annotated[float, Field(gt=0)] = 1.0
    low: int | None = None
    high: int | None = None

    def drawn(self) -> RandomInput:
        """How the judge draws it."""
        return RandomInput.load(self.model_dump(include={"distribution", "scale", "low", "high"}))


class ExampleCase(Record):
    """Inputs of one call, in the order of the arguments; a number is passed as it is."""

    name: Name = "main"
    sizes: dict[Name, Length] = {}
    inputs: Annotated[dict[Name, Example | bool | int | float], Field(min_length=1)]
    timed: bool = True


class Described(Record):
    """What is to be called, and with what."""

    function: Name | None = None
    module: Name | None = None
    init: tuple[JsonValue, ...] = ()
    """Arguments of the module's constructor."""
    title: str = ""
    description: str = ""
    cases: Annotated[tuple[ExampleCase, ...], Field(min_length=1, max_length=200)]

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.function is None) is (self.module is None):
            raise ValueError("give either `function` or `module`")
        first = self.cases[0]
        for case in self.cases:
            if list(case.inputs) != list(first.inputs):
                raise ValueError(f"case {case.name}: other inputs than {first.name}")
            missing = {size for one in case.inputs.values() if isinstance(one, Example) for size in one.shape}
            if unknown := sorted(
                str(size) for size in missing if isinstance(size, str) and size not in case.sizes
            ):
                raise ValueError(f"case {case.name}: sizes has no {unknown[0]}")
        return self


def recognises(files: Files) -> bool:
    """Whether there is a description of inputs."""
    return any(path.endswith(_ENDING) for path in files)


def parse(files: Files) -> tuple[Collection, Report]:
    """A workload or a probe for each description.

    Raises:
        FormatError: none can be taken; the first reason.
    """
    check_paths(files)
    notes, first = Notes(), None
    workloads: dict[str, Workload] = {}
    probes: list[Probe] = []
    programs: list[Probe] = []
    paths = sorted(path for path in files if path.endswith(_ENDING))
    check_count(paths)
    for path in paths:
        try:
            made = _read(files, path, notes)
            if isinstance(made, Workload) and made.name in workloads:
                raise FormatError(f"{made.title} is there twice", path)
        except FormatError as error:
            first = first or error
            notes.refuse(path, error)
            continue
        programs.append(_program_to_run(files, path))
        if isinstance(made, Probe):
            probes.append(made)
        else:
            workloads[made.name] = made
    if not workloads and not probes:
        raise first or FormatError(f"no file ends in {_ENDING}")
    held = Collection(workloads=tuple(workloads.values()), probes=tuple(probes), programs=tuple(programs))
    return held, notes.report()


def _read(files: Files, path: str, notes: Notes) -> Workload | Probe:
    source = path.removesuffix(_ENDING) + ".py"
    described = read_record(Described, files[path], path)
    if source not in files:
        raise FormatError("the file is missing", source)
    text = check_source(source, files[source])
    tree = parsed(source, text)
    wanted = described.function or described.module
    kind = ast.FunctionDef if described.function else ast.ClassDef
    if not any(isinstance(node, kind) and node.name == wanted for node in tree.body):
        raise FormatError(f"it does not define `{wanted}`", source)
    outside(source, tree, notes)
    name = source.rsplit("/", 1)[-1].removesuffix(".py")
    try:
        return assemble(_program(name, source, text, described), notes)
    except Unread as error:
        notes.ask(source, asked(error))
        return _program_to_run(files, path, error)


def _program_to_run(files: Files, path: str, error: Unread | None = None) -> Probe:
    source = path.removesuffix(_ENDING) + ".py"
    name = source.rsplit("/", 1)[-1].removesuffix(".py")
    described = read_record(Described, files[path], path).model_dump_json(exclude_unset=True)
    kept = {f"{name}.py": check_source(source, files[source]), f"{name}{_ENDING}": described}
    line, problem = (error.line, error.problem) if error else (None, "")
    return Probe(format=NAME, name=name, where=source, line=line, problem=problem, files=kept)


def finish(probe: Probe, cases: Sequence[Probed], notes: Notes) -> Workload:
    """The workload of a probed function; one `Probed` for each case.

    Raises:
        FormatError: what was seen does not fit our records.
    """
    text = probe.files[f"{probe.name}.py"]
    described = read_record(Described, probe.files[f"{probe.name}{_ENDING}"].encode(), probe.where)
    if len(cases) != len(described.cases):
        raise FormatError(f"{len(cases)} cases were probed of {len(described.cases)}", probe.where)
    names = _axis_names(described)
    found = []
    for case, seen in zip(described.cases, cases, strict=True):
        sizes, given = _given(case, names)
        weights = {path: Array(one.shape, one.dtype) for path, one in seen.weights.items()}
        tensors = [key for key, value in given.items() if isinstance(value, Array)]
        found.append((sizes, given, weights, [Array(one.shape, one.dtype) for one in seen.outputs], tensors))
    return assemble(_assembled(probe.name, probe.where, text, described, found), notes)


# Sizes ---------------------------------------------------------------------------------------------------

Dimension = tuple[str, int]


def _axis_names(described: Described) -> dict[Dimension, str]:
    """Name of the axis of each dimension given as a number: the first dimension that always has the same size."""
    names: dict[Dimension, str] = {}
    seen: dict[tuple[object, ...], str] = {}
    first = described.cases[0]
    for name, one in first.inputs.items():
        for place in range(len(one.shape) if isinstance(one, Example) else 0):
            lengths = tuple(_length(case.inputs[name], place) for case in described.cases)
            if not any(isinstance(length, str) for length in lengths):
                names[name, place] = seen.setdefault(lengths, f"{name}_{place}")
    return names


def _length(one: object, place: int) -> object:
    return one.shape[place] if isinstance(one, Example) and place < len(one.shape) else None


def _given(case: ExampleCase, names: Mapping[Dimension, str]) -> tuple[dict[str, int], dict[str, object]]:
    """Sizes of a case by axis, and its inputs."""
    sizes: dict[str, int] = dict(case.sizes)
    given: dict[str, object] = {}
    for name, one in case.inputs.items():
        if not isinstance(one, Example):
            given[name] = one
            continue
        shape: list[int] = []
        for place, length in enumerate(one.shape):
            axis = length if isinstance(length, str) else names.get((name, place), f"{name}_{place}")
            sizes[axis] = sizes[length] if isinstance(length, str) else length
            shape.append(Size(sizes[axis], axis))
        given[name] = Array(tuple(shape), one.dtype, one.drawn())
    return sizes, given


# From text -----------------------------------------------------------------------------------------------

Found = tuple["Mapping[str, int]", "Mapping[str, object]", "Mapping[str, Array]", "list[Array]", "list[str]"]


def _program(name: str, path: str, text: str, described: Described) -> Program:
    names = _axis_names(described)
    found: list[Found] = []
    for case in described.cases:
        sizes, given = _given(case, names)
        module = read_module(text)
        weights: dict[str, Array] = {}
        if described.module:
            layer = module.build(described.module, described.init, {})
            weights = layer.weights()
            made = module.forward(layer, list(given.values()))
        else:
            module.quiet = True
            made = module.call(described.function or "", *given.values())
        outputs = made if isinstance(made, list | tuple) else [made]
        if not outputs or not all(isinstance(output, Array) for output in outputs):
            raise Unread("an output that is no tensor")
        written = [key for key, value in given.items() if any(value is one for one in module.written)]
        kept = [output for output in outputs if isinstance(output, Array)]
        found.append((sizes, given, weights, kept, written))
    return _assembled(name, path, text, described, found)


def _assembled(name: str, path: str, text: str, described: Described, found: Sequence[Found]) -> Program:
    held = {int(size) for _, _, weights, _, _ in found for array in weights.values() for size in array.shape}
    axes = found[0][0]
    fixed = frozenset(
        axis for axis in axes if all(sizes[axis] == axes[axis] in held for sizes, _, _, _, _ in found)
    )
    sightings = []
    for case, (sizes, given, weights, outputs, _) in zip(described.cases, found, strict=True):
        names = weight_names(given, weights)
        inputs = {**given, **{names[key]: as_drawn(array) for key, array in weights.items()}}
        sightings.append(Sighting(case.name, sizes, inputs, outputs, timed=case.timed))
    arguments = list(found[0][1])
    if described.module:
        names = weight_names(found[0][1], found[0][2])
        reference = module_reference(text, described.module, described.init, arguments, names, found[0][4])
    else:
        reference = function_reference(text, described.function or "", arguments, found[0][4])
    return Program(
        described.title or name, path, described.description, reference, sightings, fixed=fixed, tags=(NAME,)
    )


# Back ----------------------------------------------------------------------------------------------------


def write(collection: Collection) -> tuple[dict[str, bytes], Report]:
    """A source and a description for each workload.

    Raises:
        FormatError: an input that is neither drawn nor a number.
    """
    notes = Notes()
    files: dict[str, bytes] = {}
    for workload in collection.workloads:
        shown = [case for case in workload.cases if not case.hidden]
        text, called = _source(workload)
        described: dict[str, JsonValue] = {**called}
        if identifier(workload.title) != workload.name or workload.title != workload.name:
            described["title"] = workload.title
        if workload.description:
            described["description"] = workload.description
        count = len(workload.inputs) if "module" not in called else _arguments(workload)
        names = list(workload.inputs)[:count]
        described["cases"] = [_case(workload, case, names) for case in shown]
        add_file(files, f"{workload.name}.py", text.encode())
        files[f"{workload.name}{_ENDING}"] = json_file(described)
        notes.take(f"{workload.name}.py", f"workload {workload.name} with {len(shown)} cases")
        if len(shown) < len(workload.cases):
            notes.drop(workload.name, f"{len(workload.cases) - len(shown)} hidden cases")
    for solution in collection.solutions:
        notes.drop(solution.name, "a program has no place here")
    return files, notes.report()


def _source(workload: Workload) -> tuple[str, dict[str, JsonValue]]:
    """The file, and what is called in it: as it was read, where it came from such a file."""
    before, mark, after = workload.reference.partition(MARK)
    if mark and NAME in workload.tags:
        for node in ast.parse(after).body:
            match node:
                case ast.Assign(targets=[ast.Name(id="_CALLED")], value=value):
                    called: dict[str, JsonValue] = ast.literal_eval(value)
                    return before, called
    return workload.reference, {"function": "run"}


def _arguments(workload: Workload) -> int:
    """Number of inputs that are no weights."""
    return (
        workload.reference.partition(MARK)[2].partition("_ARGUMENTS = ")[2].partition("\n")[0].count('"') // 2
    )


def _case(workload: Workload, case: Case, names: Sequence[str]) -> JsonValue:
    made: dict[str, JsonValue] = {"name": case.name}
    sizes = workload.sizes(case)
    inputs: dict[str, JsonValue] = {}
    used: set[str] = set()
    for name in names:
        how, tensor = case.inputs.get(name, RandomInput()), workload.inputs[name]
        if isinstance(how, ScalarInput):
            inputs[name] = how.value
            continue
        if not isinstance(how, RandomInput):
            raise FormatError(f"{TITLE} cannot say how {name} is made", workload.name, field=f"inputs.{name}")
        used |= set(tensor.shape or ())
        drawn = how.model_dump(
            mode="json", exclude_defaults=True, include={"distribution", "scale", "low", "high"}
        )
        inputs[name] = {"shape": list(tensor.shape or ()), "dtype": tensor.dtype, **drawn}
    made["sizes"] = {axis: size for axis, size in sizes.items() if axis in used}
    made["inputs"] = inputs
    if not case.timed:
        made["timed"] = False
    return made


FORMAT = Format(NAME, TITLE, recognises, parse, write)
