"""SOL-ExecBench: one folder a problem.

    definition.json      a Definition; axes may be computed, `op_type` may be missing, inputs may have an entry point
    workload.jsonl       its cases, one a line, each with its own tolerance
    reference.py         the reference once more, for people
    solution*.json       programs

The Definition, its cases and a Solution are FlashInfer-Trace's with additions; loaded as FlashInfer-Trace they
would lose their tolerance in silence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, Field, JsonValue

from search.formats import convert, programs, recorded
from search.formats.convert import Found
from search.formats.format import Collection, Format, FormatError, Notes, add_file
from search.formats.reading import check_paths, json_file, json_lines, read_lines, read_record, validate
from search.formats.schema import BuildSpec, Definition, Solution, Trace, Wire, WorkloadSpec
from search.records import Language
from search.workload import DType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from search.formats.format import Files, Report
    from search.records import Candidate
    from search.workload import Workload

TITLE = "SOL-ExecBench"
_TYPES = frozenset(DType) - {DType.UINT8}
_DEFINITION, _CASES, _REFERENCE = "definition.json", "workload.jsonl", "reference.py"

_PYTHON_WORDS = ("pytorch", "triton", "tlx", "cute_dsl", "cutile", "cudnn_frontend")
_CPP_WORDS = ("cutlass", "cudnn", "cublas", "cuda_cpp")
_RUNNABLE = {"pytorch", "triton"}


def _language(word: str) -> str:
    if word not in _PYTHON_WORDS + _CPP_WORDS:
        raise ValueError(f"{word} is none of {', '.join(_PYTHON_WORDS + _CPP_WORDS)}")
    return word


class CompileOptions(Wire):
    """Flags of C++ and CUDA programs."""

    cflags: tuple[str, ...] | None = None
    cuda_cflags: tuple[str, ...] | None = None
    ld_flags: tuple[str, ...] | None = None


class SolBuild(BuildSpec):
    """All languages used, either of Python or of C++."""

    languages: Annotated[tuple[Annotated[str, AfterValidator(_language)], ...], Field(min_length=1)]
    binding: Literal["torch"] | None = None
    compile_options: CompileOptions | None = None
    pip_packages: tuple[str, ...] | None = None


class SolSolution(Solution):
    """A program for a definition."""

    spec: SolBuild


def candidate_of(solution: SolSolution) -> Candidate:
    """The program as a candidate.

    Raises:
        FormatError: it cannot be called here.
    """
    strange = sorted(set(solution.spec.languages) - _RUNNABLE) + list(solution.spec.pip_packages or ())
    if strange:
        raise FormatError(f"programs that need {', '.join(strange)} cannot be called here", solution.name)
    triton = "triton" in solution.spec.languages
    return programs.candidate(solution, Language.TRITON if triton else Language.PYTORCH)


def solution_of(
    candidate: Candidate, name: str, definition: str, author: str, hardware: Sequence[str]
) -> SolSolution:
    """A candidate as a solution, its knob values written into its source.

    Raises:
        FormatError: a language whose ABI is ours alone.
    """
    document = programs.document(candidate, name, definition, author)
    spec = document["spec"]
    assert isinstance(spec, dict)
    words: dict[str, JsonValue] = {"languages": [candidate.language], "target_hardware": list(hardware)}
    document["spec"] = words | spec
    return validate(SolSolution, document, name)


# Reading -------------------------------------------------------------------------------------------------


def recognises(files: Files) -> bool:
    """Whether there is a problem folder."""
    return any(_is_named(path, _DEFINITION) for path in files)


def _is_named(path: str, name: str) -> bool:
    return path.rsplit("/", 1)[-1] == name


def parse(files: Files) -> tuple[Collection, Report]:
    """Every problem that can be taken whole.

    Raises:
        FormatError: none can; the first reason.
    """
    check_paths(files)
    folders = sorted(path.removesuffix(_DEFINITION) for path in files if _is_named(path, _DEFINITION))
    if not folders:
        raise FormatError(f"no {TITLE} problem: there is no {_DEFINITION}")
    notes, first = Notes(), None
    workloads: dict[str, Workload] = {}
    solutions: list[SolSolution] = []
    for folder in folders:
        found = Notes()
        try:
            workload = _problem(files, folder, found)
            if workload.name in workloads:
                raise FormatError(f"{workload.title} is there twice", folder + _DEFINITION, field="name")
        except FormatError as error:
            first = first or error
            notes.refuse(folder or _DEFINITION, error)
            continue
        notes.add(found)
        workloads[workload.name] = workload
        solutions += _solutions(files, folder, convert.foreign_name(workload), notes)
    if first and not workloads:
        raise first
    return Collection(tuple(workloads.values()), tuple(solutions)), notes.report()


def _problem(files: Files, folder: str, notes: Notes) -> Workload:
    path = folder + _DEFINITION
    definition = read_record(Definition, files[path], path)
    if folder + _CASES not in files:
        raise FormatError("the file is missing", folder + _CASES)
    workload = convert.workload_of(definition, path, list(_cases(files, folder, definition)), notes)
    workload = recorded.with_tensors(workload, files, (folder, ""), notes)
    spoken = files.get(folder + _REFERENCE, workload.reference.encode())
    if spoken.decode("utf-8", "replace").strip() != workload.reference.strip():
        notes.drop(folder + _REFERENCE, f"it differs from the reference in {_DEFINITION}, which counts")
    notes.take(path, f"workload {workload.name} with {len(workload.cases)} cases")
    return workload


def _cases(files: Files, folder: str, definition: Definition) -> Iterator[Found]:
    """Cases, bare or inside FlashInfer-Trace's Trace."""
    path = folder + _CASES
    for line, found in read_lines(Line, files[path], path):
        if isinstance(found, FormatError):
            raise found
        trace = found.trace(path, line)
        if trace is None:
            yield Found(path, line, validate(WorkloadSpec, found.document(), path, line))
            continue
        if trace.definition != definition.name:
            raise FormatError(f"a case of {trace.definition}", path, line, "definition")
        yield Found(path, line, trace.workload)


class Line(Wire):
    """A line of cases before it is known which of two forms it has."""

    def trace(self, path: str, line: int) -> Trace | None:
        """The line as FlashInfer-Trace's Trace; None when it is a bare case."""
        if "workload" not in (self.model_extra or {}):
            return None
        return validate(Trace, self.document(), path, line)


def _solutions(files: Files, folder: str, definition: str, notes: Notes) -> Iterator[SolSolution]:
    for path in sorted(files):
        name = path.removeprefix(folder)
        if not path.startswith(folder) or "/" in name:
            continue
        if not name.startswith("solution") or not name.endswith(".json"):
            continue
        try:
            solution = read_record(SolSolution, files[path], path)
            if solution.definition != definition:
                raise FormatError(f"it is for {solution.definition}", path, field="definition")
        except FormatError as error:
            notes.refuse(path, error)
            continue
        notes.take(path, f"solution {solution.name}{_runs(solution)}")
        yield solution


def _runs(solution: SolSolution) -> str:
    try:
        candidate_of(solution)
    except FormatError as error:
        return f", kept only: {error.problem}"
    return ""


# Writing -------------------------------------------------------------------------------------------------


def write(collection: Collection) -> tuple[dict[str, bytes], Report]:
    """One folder a workload.

    Raises:
        FormatError: something that the format cannot say.
    """
    notes = Notes()
    files: dict[str, bytes] = {}
    names = set()
    for workload in collection.workloads:
        convert.check_types(workload, _TYPES, TITLE)
        definition = convert.definition_of(workload, notes, literals=True)
        specs = convert.specs_of(workload, notes)
        names.add(definition.name)
        add_file(files, f"{workload.name}/{_DEFINITION}", json_file(definition.document()))
        files[f"{workload.name}/{_CASES}"] = json_lines(spec.document() for spec in specs)
        for blob, content in recorded.files_of(workload, f"{workload.name}/").items():
            add_file(files, blob, content)
        notes.take(f"{workload.name}/{_DEFINITION}", f"workload {workload.name} with {len(specs)} cases")
    for solution in collection.solutions:
        if not isinstance(solution, SolSolution) or solution.definition not in names:
            notes.drop(solution.name, f"no {TITLE} solution of a workload written here")
            continue
        folder = convert.identifier(solution.definition)
        add_file(files, f"{folder}/solution_{programs.file_name(solution)}", json_file(solution.document()))
    for trace in collection.traces:
        notes.drop(
            f"{trace.solution} on {trace.workload.uuid}", f"{TITLE} keeps no results beside its problems"
        )
    return files, notes.report()


FORMAT = Format("sol_execbench", TITLE, recognises, parse, write)
