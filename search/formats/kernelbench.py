"""KernelBench: one Python file a problem, with `Model`, `get_inputs` and `get_init_inputs`.

The file is read and never executed here. It becomes a reference that builds the model once, from a fixed seed, and
takes its weights as inputs; what its text does not tell makes a `Probe`. In our reference the file stands unchanged
above a mark, so that it is written back byte by byte.
"""

from __future__ import annotations

import ast
import math
import re
from typing import TYPE_CHECKING

from search.formats.assemble import Program, Sighting, assemble
from search.formats.convert import file_stem, identifier
from search.formats.format import Collection, Format, FormatError, Notes, add_file
from search.formats.kernelbench_solutions import is_solution, read_solution
from search.formats.probes import Probe, asked
from search.formats.python_text import check_count, check_source, outside, parsed
from search.formats.shapes import Array, Size, Unread, read_module
from search.formats.shapes.values import Layer, text_of
from search.formats.templates import MARK, model_class, model_reference
from search.workload import RandomInput, Workload

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from search.formats.flashinfer_trace import FlashInferSolution
    from search.formats.format import Files, Report
    from search.formats.probes import Probed

TITLE = "KernelBench"
NAME = "kernelbench"
_PARTS = ("Model", "get_inputs", "get_init_inputs")
_NEEDS_POSITIVE = frozenset(
    [
        "log",
        "log2",
        "log10",
        "log1p",
        "sqrt",
        "rsqrt",
        "pow",
        "binary_cross_entropy",
        "kl_div",
        "poisson_nll_loss",
        "BCELoss",
        "KLDivLoss",
    ]
)
"""Where a program calls one of these, `torch.rand` keeps its range from 0 to 1."""


def recognises(files: Files) -> bool:
    """Whether some Python file defines a model with its inputs."""
    return any(_is_problem(path, content) for path, content in files.items())


def _is_problem(path: str, content: bytes) -> bool:
    defined = re.search(rb"class Model\b", content) is not None
    return path.endswith(".py") and defined and b"def get_inputs" in content


def parse(files: Files) -> tuple[Collection, Report]:
    """A workload or a probe for each file.

    Raises:
        FormatError: no file can be taken; the first reason.
    """
    notes, first = Notes(), None
    workloads: dict[str, Workload] = {}
    probes: list[Probe] = []
    programs: list[Probe] = []
    paths = sorted(path for path, content in files.items() if _is_problem(path, content))
    check_count(paths)
    for path in paths:
        found = Notes()
        try:
            made = read(path, files[path], found)
            if isinstance(made, Workload) and made.name in workloads:
                raise FormatError(f"{made.title} is there twice", path)
        except FormatError as error:
            first = first or error
            notes.refuse(path, error)
            continue
        notes.add(found)
        programs.append(_program_to_run(path, check_source(path, files[path])))
        if isinstance(made, Probe):
            probes.append(made)
        else:
            workloads[made.name] = made
    solutions = list(_solutions(files, workloads, notes))
    if not workloads and not probes:
        raise first or FormatError(f"no {TITLE} file: none defines Model and get_inputs")
    held = Collection(
        tuple(workloads.values()), tuple(solutions), probes=tuple(probes), programs=tuple(programs)
    )
    return held, notes.report()


def _solutions(files: Files, workloads: Mapping[str, Workload], notes: Notes) -> Iterator[FlashInferSolution]:
    named = {workload.title: workload for workload in workloads.values()}
    for path in sorted(path for path, content in files.items() if is_solution(path, content)):
        try:
            yield read_solution(path, files[path], named, notes)
        except FormatError as error:
            notes.refuse(path, error)


def read(path: str, content: bytes, notes: Notes) -> Workload | Probe:
    """One file as a workload, or as a probe where its text does not tell all shapes.

    Raises:
        FormatError: it is no such file; names the line.
    """
    text = check_source(path, content)
    tree = parsed(path, text)
    defined = {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    if missing := [name for name in _PARTS if name not in defined]:
        raise FormatError(f"it does not define {' and '.join(missing)}", path)
    outside(path, tree, notes)
    name = path.rsplit("/", 1)[-1].removesuffix(".py")
    try:
        return assemble(_program(name, path, text, tree), _noted(path, tree, notes))
    except Unread as error:
        notes.ask(path, asked(error))
        return _program_to_run(path, text, error)


def _program_to_run(path: str, text: str, error: Unread | None = None) -> Probe:
    file = path.rsplit("/", 1)[-1]
    line, problem = (error.line, error.problem) if error else (None, "")
    name = file.removesuffix(".py")
    return Probe(format=NAME, name=name, where=path, line=line, problem=problem, files={file: text})


def finish(probe: Probe, cases: Sequence[Probed], notes: Notes) -> Workload:
    """The workload of a probed file.

    Raises:
        FormatError: what was seen does not fit our records.
    """
    (text,) = probe.files.values()
    seen = cases[0]
    given = {name: one.read() for name, one in seen.inputs.items()}
    weights = {path: Array(one.shape, one.dtype) for path, one in seen.weights.items()}
    outputs = [Array(one.shape, one.dtype) for one in seen.outputs]
    program = _assembled(
        probe.name, probe.where, text, (given, weights, outputs, list(given)), sizes={}, fixed=frozenset()
    )
    return assemble(program, notes)


# From text -----------------------------------------------------------------------------------------------


def _program(name: str, path: str, text: str, tree: ast.Module) -> Program:
    module = read_module(text, named=True)
    settings = module.call("get_init_inputs")
    given, named = _split(settings)
    model = module.build("Model", given, named)
    arguments = module.call("get_inputs")
    if not isinstance(arguments, list | tuple):
        raise Unread("the inputs, which are no list")
    made = module.forward(model, arguments)
    inputs = _named_inputs(tree, arguments)
    written = [key for key, value in inputs.items() if any(value is one for one in module.written)]
    parts = (inputs, model.weights(), _outputs(made), written)
    sizes = {key: value for key, value in module.names.items() if isinstance(value, Size)}
    return _assembled(name, path, text, parts, sizes=sizes, fixed=_fixed(tree, model))


def _split(settings: object) -> tuple[list[object], dict[str, object]]:
    """Positional and named arguments of the constructor; some files give a dictionary for the latter."""
    if isinstance(settings, dict):
        return [], {str(key): value for key, value in settings.items()}
    if not isinstance(settings, list | tuple):
        raise Unread("the settings of the model, which are no list")
    if len(settings) == 2 and isinstance(settings[0], list | tuple) and isinstance(settings[1], dict):
        return list(settings[0]), {str(key): value for key, value in settings[1].items()}
    return list(settings), {}


def _named_inputs(tree: ast.Module, arguments: Sequence[object]) -> dict[str, object]:
    """Inputs by the names of `forward`'s arguments."""
    taken = [f"input_{place}" for place in range(len(arguments))]
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == "Model":
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef) and inner.name == "forward":
                    taken = [argument.arg for argument in inner.args.args[1:]]
    made: dict[str, object] = {}
    for name, value in zip(taken, arguments, strict=False):
        if not isinstance(value, Array | int | float):
            raise Unread(f"the input `{name}`, which is neither a tensor nor a number")
        made[name] = value
    return made


def _outputs(made: object) -> list[Array]:
    parts = made if isinstance(made, list | tuple) else [made]
    if not parts or not all(isinstance(part, Array) for part in parts):
        raise Unread("an output that is no tensor")
    return [part for part in parts if isinstance(part, Array)]


def _fixed(tree: ast.Module, model: Layer) -> frozenset[str]:
    """Named sizes that the model is built with, or that its code mentions: other cases cannot change them."""
    found = {name for array in model.weights().values() for size in array.shape for name in _names(size)}
    for node in tree.body:
        if isinstance(node, ast.ClassDef) or (
            isinstance(node, ast.FunctionDef) and node.name == "get_init_inputs"
        ):
            found |= {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return frozenset(found)


def _names(size: int) -> set[str]:
    return {part.id for part in ast.walk(ast.parse(text_of(size), mode="eval")) if isinstance(part, ast.Name)}


Parts = tuple["Mapping[str, object]", "Mapping[str, Array]", "Sequence[Array]", "Sequence[str]"]


def _assembled(
    name: str, path: str, text: str, parts: Parts, *, sizes: Mapping[str, int], fixed: frozenset[str]
) -> Program:
    given, weights, outputs, written = parts
    names = weight_names(given, weights)
    positive = any(
        isinstance(node, ast.Attribute) and node.attr in _NEEDS_POSITIVE for node in ast.walk(ast.parse(text))
    )
    custom = frozenset(
        key for key, value in given.items() if isinstance(value, Array) and _is_custom(value, positive)
    )
    if custom:
        custom = frozenset(key for key, value in given.items() if isinstance(value, Array))
        fixed = fixed | frozenset(sizes)
    inputs = {**given, **{names[key]: as_drawn(array) for key, array in weights.items()}}
    sighting = Sighting("main", sizes, inputs, outputs, custom=custom)
    made = [name for name in given if name in custom]
    reference = model_reference(text, list(given), names, custom=made, written=written)
    return Program(
        name=name,
        where=path,
        description="",
        reference=reference,
        sightings=[sighting],
        fixed=fixed,
        entrypoint="make_inputs" if custom else None,
        tags=(NAME,),
    )


def as_drawn(weight: Array) -> Array:
    """A weight with how the judge draws it: so small that sums over its rows stay near one."""
    if not weight.dtype.is_float or len(weight.shape) < 2:
        return weight
    entering = max(math.prod(int(size) for size in weight.shape[1:]), 1)
    return Array(weight.shape, weight.dtype, RandomInput(scale=float(f"{entering**-0.5:.3g}")))


def weight_names(given: Mapping[str, object], weights: Mapping[str, object]) -> dict[str, str]:
    """Name of an input for each dotted path of a weight."""
    names: dict[str, str] = {}
    for path in weights:
        name = identifier(path)
        while name in given or name in names.values():
            name += "_"
        names[path] = name
    return names


def _is_custom(value: Array, positive: bool) -> bool:
    """Whether the judge cannot draw the input by itself."""
    if value.drawn is None:
        return True
    return positive and value.drawn.distribution == "uniform"


def _noted(path: str, tree: ast.Module, notes: Notes) -> Notes:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr.startswith("Dropout"):
            notes.change(
                f"{path}:{node.lineno}", "dropout is switched off, since random results cannot be compared"
            )
        if isinstance(node, ast.Attribute) and node.attr == "rand":
            notes.change(
                f"{path}:{node.lineno}", "drawn from -1 to 1 where nothing in the file needs positive numbers"
            )
    notes.change(path, "weights are inputs, drawn at random, in rows of length about one")
    return notes


# Back ----------------------------------------------------------------------------------------------------


def write(collection: Collection) -> tuple[dict[str, bytes], Report]:
    """One file a workload: as it was where it came from such a file, else a model that calls the reference.

    Raises:
        FormatError: two workloads would become one file.
    """
    notes = Notes()
    files: dict[str, bytes] = {}
    for workload in collection.workloads:
        path = f"{file_stem(workload)}.py"
        before, mark, _ = workload.reference.partition(MARK)
        add_file(files, path, (before if mark else _model(workload, notes)).encode())
        notes.take(path, f"workload {workload.name}")
    for solution in collection.solutions:
        notes.drop(solution.name, f"{TITLE} keeps no programs beside its problems")
    return files, notes.report()


def _model(workload: Workload, notes: Notes) -> str:
    shown = [case for case in workload.cases if not case.hidden]
    if not shown:
        raise FormatError("no case that may be shown", workload.name)
    if len(workload.cases) > 1:
        notes.drop(workload.name, f"{len(workload.cases) - 1} cases: {TITLE} has one of {shown[0].name}")
    for name, made in shown[0].inputs.items():
        if not isinstance(made, RandomInput) and made.type != "scalar":
            raise FormatError(f"{TITLE} cannot say how {name} is made", workload.name, field=f"inputs.{name}")
    return model_class(workload, shown[0])


FORMAT = Format(NAME, TITLE, recognises, parse, write)
