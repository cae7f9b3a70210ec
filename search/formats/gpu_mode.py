"""GPU MODE: a folder with `task.yml` and `reference.py` (`generate_input`, `ref_kernel`, `check_implementation`).

Tests become cases that are checked, benchmarks become cases that are timed. Parameters that are whole numbers are axes;
others (words, truth values) are axes that count through what the cases give. The reference stands unchanged between
two marks of ours, so that it is written back byte by byte.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from search.formats.assemble import Program, Sighting, assemble
from search.formats.convert import identifier
from search.formats.format import Collection, Format, FormatError, Notes
from search.formats.gpu_mode_source import reference_of, tolerance_in
from search.formats.gpu_mode_write import write
from search.formats.nested import Leaf, leaves
from search.formats.probes import Probe, asked
from search.formats.python_text import check_characters, check_count, check_source, outside, parsed
from search.formats.reading import check_paths, validate, yaml_document
from search.formats.schema import Wire
from search.formats.shapes import Array, Size, Unread, read_module
from search.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from search.formats.format import Files, Report
    from search.formats.probes import Probed
    from search.workload import CaseTolerance

TITLE = "GPU MODE"
NAME = "gpu_mode"
_TASKS = ("task.yml", "task.yaml")
_REFERENCE = "reference.py"
_SEED = "seed"
_READ = ("files", "config", "templates")
_MOST_CASES = 200

Parameter = int | float | bool | str


class Task(Wire):
    """`task.yml`."""

    lang: Literal["py"] = "py"
    description: str = ""
    tests: tuple[dict[str, Parameter], ...] = ()
    benchmarks: tuple[dict[str, Parameter], ...] = ()


@dataclass(frozen=True)
class Given:
    """Parameters of a case."""

    name: str
    values: Mapping[str, Parameter]
    timed: bool


@dataclass(frozen=True)
class Folder:
    """One task."""

    place: str
    """Path before `task.yml`."""
    task: Task
    text: str
    """The reference."""
    beside: Mapping[str, str]
    """Python files that the reference may import, by module name."""

    @property
    def where(self) -> str:
        """Path of the reference."""
        return self.place + _REFERENCE

    @property
    def name(self) -> str:
        """Name of the folder."""
        return self.place.rstrip("/").rsplit("/", 1)[-1] or "task"


def recognises(files: Files) -> bool:
    """Whether there is a task with a reference."""
    return bool(_places(files))


def _places(files: Files) -> list[str]:
    found = {path.removesuffix(name) for path in files for name in _TASKS if _is_named(path, name)}
    return sorted(place for place in found if place + _REFERENCE in files)


def _is_named(path: str, name: str) -> bool:
    return path.rsplit("/", 1)[-1] == name


def parse(files: Files) -> tuple[Collection, Report]:
    """A workload or a probe for each folder.

    Raises:
        FormatError: no folder can be taken; the first reason.
    """
    check_paths(files)
    notes, first = Notes(), None
    workloads: dict[str, Workload] = {}
    probes: list[Probe] = []
    check_count(_places(files))
    for place in _places(files):
        found = Notes()
        try:
            made = read(_folder(files, place), found)
            if isinstance(made, Workload) and made.name in workloads:
                raise FormatError(f"{made.title} is there twice", place)
        except FormatError as error:
            first = first or error
            notes.refuse(place + _REFERENCE, error)
            continue
        notes.add(found)
        if isinstance(made, Probe):
            probes.append(made)
        else:
            workloads[made.name] = made
    if not workloads and not probes:
        raise first or FormatError(f"no {TITLE} task: there is no task.yml beside a {_REFERENCE}")
    return Collection(workloads=tuple(workloads.values()), probes=tuple(probes)), notes.report()


def _folder(files: Files, place: str) -> Folder:
    path = next(place + name for name in _TASKS if place + name in files)
    task = validate(Task, yaml_document(files[path], path), path)
    check_characters(path, task.description, "description")
    beside = {}
    for folder in (place.rstrip("/").rpartition("/")[0], place.rstrip("/")):
        for other in files:
            inner = other.removeprefix(f"{folder}/") if folder else other
            if inner.endswith(".py") and "/" not in inner and (not folder or other.startswith(f"{folder}/")):
                beside[inner.removesuffix(".py")] = check_source(other, files[other])
    return Folder(place, task, check_source(place + _REFERENCE, files[place + _REFERENCE]), beside)


def read(folder: Folder, notes: Notes) -> Workload | Probe:
    """One task as a workload, or as a probe where the text does not tell all shapes.

    Raises:
        FormatError: the task does not fit; names file and line, or field.
    """
    tree = parsed(folder.where, folder.text)
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    if missing := [name for name in ("generate_input", "ref_kernel") if name not in defined]:
        raise FormatError(f"it does not define {' and '.join(missing)}", folder.where)
    given = _given(folder)
    outside(folder.where, tree, notes, frozenset({"task", "utils", *folder.beside}))
    for field in folder.task.unknown():
        if field.split(".")[0] not in _READ:
            notes.drop(folder.place + _TASKS[0], f"{field} is not taken over")
    try:
        program = _program(folder, tree, given, notes)
        return assemble(program, notes)
    except Unread as error:
        notes.ask(folder.where, asked(error))
        return _probe(folder, error)


def _probe(folder: Folder, error: Unread) -> Probe:
    beside = {f"{name}.py": text for name, text in folder.beside.items()}
    task = {"task.json": folder.task.model_dump_json(exclude_unset=True)}
    return Probe(
        format=NAME,
        name=folder.name,
        where=folder.where,
        line=error.line,
        problem=error.problem,
        files={**beside, _REFERENCE: folder.text, **task},
    )


def finish(probe: Probe, cases: Sequence[Probed], notes: Notes) -> Workload:
    """The workload of a probed task; one `Probed` for each test, then for each benchmark.

    Only for a `generate_input` that returns a tensor or a flat tuple: `inputs` are its parts in order.

    Raises:
        FormatError: what was seen does not fit our records.
    """
    files = {name: text.encode() for name, text in probe.files.items() if name != "task.json"}
    folder = _folder({**files, _TASKS[0]: probe.files["task.json"].encode()}, "")
    given = _given(folder)
    if len(given) != len(cases):
        raise FormatError(f"{len(cases)} cases were probed of {len(given)}", probe.where)
    tolerance = tolerance_in(parsed(probe.where, folder.text), probe.where, notes)
    choices = _choices(given)
    sightings = [
        Sighting(
            one.name,
            _sizes(one, choices),
            {name: seen.read() for name, seen in found.inputs.items()},
            [Array(seen.shape, seen.dtype) for seen in found.outputs],
            timed=one.timed,
            tolerance=tolerance,
            custom=frozenset(name for name, seen in found.inputs.items() if seen.value is None),
        )
        for one, found in zip(given, cases, strict=True)
    ]
    names = list(cases[0].inputs)
    held = [Leaf(name, f"[{place}]" if len(names) > 1 else "", None) for place, name in enumerate(names)]
    shape = f"({''.join(f'{name}, ' for name in names)})" if len(names) > 1 else names[0]
    generator = choices, True, frozenset[str]()
    reference = reference_of(folder.text, folder.beside, held, shape, generator, folder.where)
    return assemble(replace(_made(folder, reference, sightings, custom=True), name=probe.name), notes)


# Cases ---------------------------------------------------------------------------------------------------


def _given(folder: Folder) -> list[Given]:
    """All cases, tests first.

    Raises:
        FormatError: none, too many, or cases that give different parameters.
    """
    path = folder.place + _TASKS[0]
    tests = [Given(f"test_{n}", values, timed=False) for n, values in enumerate(folder.task.tests)]
    timed = [Given(f"benchmark_{n}", values, timed=True) for n, values in enumerate(folder.task.benchmarks)]
    if not timed:
        tests = [Given(one.name, one.values, timed=True) for one in tests]
    found = tests + timed
    if not found:
        raise FormatError("no case: neither tests nor benchmarks", path)
    if len(found) > _MOST_CASES:
        raise FormatError(f"{len(found)} cases, over the limit of {_MOST_CASES}", path)
    for one in found:
        if set(one.values) != set(found[0].values):
            raise FormatError(
                f"other parameters than {found[0].name}", path, field=one.name.replace("_", ".")
            )
        if odd := [name for name in one.values if identifier(name) != name]:
            raise FormatError(f"{odd[0]!r} is no name", path, field=one.name.replace("_", "."))
    return found


def _choices(given: Sequence[Given]) -> dict[str, list[Parameter]]:
    """Parameters that are no sizes, with their values in order of appearance."""
    found: dict[str, list[Parameter]] = {}
    for name in given[0].values:
        values = [one.values[name] for one in given]
        if name != _SEED and not all(type(value) is int and value >= 0 for value in values):
            found[name] = list({repr(value): value for value in values}.values())
    return found


def _sizes(one: Given, choices: Mapping[str, Sequence[Parameter]]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for name, value in one.values.items():
        if name in choices:
            sizes[name] = [repr(choice) for choice in choices[name]].index(repr(value))
        elif name != _SEED:
            assert isinstance(value, int)
            sizes[name] = value
    return sizes


# From text -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Followed:
    """A case as its text was followed."""

    given: Given
    held: list[Leaf]
    shape: str
    outputs: list[Array]
    written: frozenset[str]


def _program(folder: Folder, tree: ast.Module, given: Sequence[Given], notes: Notes) -> Program:
    choices = _choices(given)
    tolerance = tolerance_in(tree, folder.where, notes)
    followed = [_follow(folder.text, one, choices, _names(tree)) for one in given]
    if len({(one.shape, tuple(leaf.name for leaf in one.held)) for one in followed}) > 1:
        raise Unread("inputs that are built differently from case to case")
    tensors = [leaf.value for one in followed for leaf in one.held if isinstance(leaf.value, Array)]
    custom = any(value.drawn is None for value in tensors)
    first = followed[0]
    _tell(folder, first, notes, custom=custom)
    reference = reference_of(
        folder.text, folder.beside, first.held, first.shape, (choices, custom, first.written), folder.where
    )
    sightings = [_sighting(one, choices, tolerance, custom=custom) for one in followed]
    return _made(folder, reference, sightings, custom=custom)


def _tell(folder: Folder, first: _Followed, notes: Notes, *, custom: bool) -> None:
    for name in sorted(first.written):
        notes.change(folder.where, f"{name} is written by the reference, which gets a copy of it")
    if not custom:
        told = "inputs are drawn by the judge as generate_input draws them; `torch.rand` from -1 to 1"
        notes.change(folder.where, told)


def _sighting(
    one: _Followed,
    choices: Mapping[str, Sequence[Parameter]],
    tolerance: CaseTolerance | None,
    *,
    custom: bool,
) -> Sighting:
    return Sighting(
        one.given.name,
        _sizes(one.given, choices),
        {leaf.name: leaf.value for leaf in one.held},
        one.outputs,
        timed=one.given.timed,
        tolerance=tolerance,
        custom=frozenset(leaf.name for leaf in one.held if custom and isinstance(leaf.value, Array)),
    )


def _made(folder: Folder, reference: str, sightings: Sequence[Sighting], *, custom: bool) -> Program:
    return Program(
        folder.name,
        folder.where,
        folder.task.description,
        reference,
        sightings,
        entrypoint="make_inputs" if custom else None,
        tags=(NAME,),
    )


def _follow(text: str, one: Given, choices: Mapping[str, object], names: Sequence[str]) -> _Followed:
    """What `generate_input` returns in a case, and the outputs that the reference makes of it."""
    module = read_module(text)
    named: dict[str, object] = dict(one.values)
    for name, value in one.values.items():
        if name not in choices and name != _SEED and isinstance(value, int):
            named[name] = Size(value, name)
    data = module.call("generate_input", **named)
    module.quiet, module.written = True, []
    made = module.call("ref_kernel", data)
    outputs = made if isinstance(made, list | tuple) else [made]
    if not outputs or not all(isinstance(output, Array) for output in outputs):
        raise Unread("an output that is no tensor")
    held, shape = leaves(data, names)
    written = frozenset(leaf.name for leaf in held if any(leaf.value is other for other in module.written))
    return _Followed(one, held, shape, [output for output in outputs if isinstance(output, Array)], written)


def _names(tree: ast.Module) -> list[str]:
    """Names of the parts of `data`: as the reference unpacks them, or as the generator returns them."""
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    taken = functions["ref_kernel"].args.args
    for node in ast.walk(functions["ref_kernel"]):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=parts)], value=ast.Name(id=source)):
                if taken and source == taken[0].arg and all(isinstance(part, ast.Name) for part in parts):
                    return [part.id for part in parts if isinstance(part, ast.Name)]
    for node in ast.walk(functions["generate_input"]):
        match node:
            case ast.Return(value=ast.Tuple(elts=parts)):
                return [part.id if isinstance(part, ast.Name) else "" for part in parts]
            case ast.Return(value=ast.Name(id=name)):
                return [name]
    return []


FORMAT = Format(NAME, TITLE, recognises, parse, write)
