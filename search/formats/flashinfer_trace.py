"""FlashInfer-Trace: a folder of definitions, their cases, solutions and results.

    definitions/<op_type>/<name>.json     one Definition
    workloads/<op_type>/<name>.jsonl      Trace lines without a result: the cases
    solutions/**/<solution>.json          one Solution
    traces/**/<name>.jsonl                Trace lines with a result
    blob/**/*.safetensors                 recorded inputs, to which cases point by path

A case's `tolerance` (SOL-ExecBench) is kept in reading and writing, where FlashInfer's own loader ignores it;
computed axes and custom inputs are read, and refused in writing, where it would fail.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from search.formats import convert, programs, recorded
from search.formats.convert import Found
from search.formats.format import Collection, Format, FormatError, Notes, add_file
from search.formats.reading import check_paths, json_file, json_lines, read_lines, read_record, validate
from search.formats.schema import BuildSpec, Definition, Solution, Trace
from search.records import Language
from search.workload import DType, ExprAxis

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydantic import JsonValue

    from search.formats.format import Files, Report
    from search.records import Candidate
    from search.workload import Workload

TITLE = "FlashInfer-Trace"
_TYPES = frozenset(DType) - {DType.FLOAT64, DType.UINT8, DType.FLOAT4_E2M1FN_X2}
_RUNNABLE = {"python": Language.PYTORCH, "triton": Language.TRITON}
_NO_TYPE = "other"
"""Their `op_type` may not be empty."""


class FlashInferBuild(BuildSpec):
    """One language; `binding` says how C++ and CUDA meet Python."""

    language: Literal["python", "triton", "cpp", "cuda", "tilelang"]
    binding: Literal["tvm-ffi", "torch"] | None = None


class FlashInferSolution(Solution):
    """A program for a definition."""

    spec: FlashInferBuild


def candidate_of(solution: FlashInferSolution) -> Candidate:
    """The program as a candidate.

    Raises:
        FormatError: it cannot be called here.
    """
    language = _RUNNABLE.get(solution.spec.language)
    if language is None:
        raise FormatError(
            f"{solution.spec.language} programs of {TITLE} cannot be called here", solution.name
        )
    return programs.candidate(solution, language)


def solution_of(
    candidate: Candidate, name: str, definition: str, author: str, hardware: Sequence[str]
) -> FlashInferSolution:
    """A candidate as a solution, its knob values written into its source.

    Raises:
        FormatError: a language whose ABI is ours alone.
    """
    document = programs.document(candidate, name, definition, author)
    language = next(word for word, ours in _RUNNABLE.items() if ours is candidate.language)
    spec = document["spec"]
    assert isinstance(spec, dict)
    document["spec"] = {"language": language, "target_hardware": list(hardware), **spec}
    return validate(FlashInferSolution, document, name)


# Reading -------------------------------------------------------------------------------------------------


def recognises(files: Files) -> bool:
    """Whether there is a folder of definitions."""
    return _root(files) is not None


def _root(files: Files) -> str | None:
    """What stands before `definitions/`, since archives often have a folder around everything."""
    found = [path for path in files if "definitions/" in path and path.endswith(".json")]
    starts = [path[: path.index("definitions/")] for path in found]
    return min((start for start in starts if not start or start.endswith("/")), key=len, default=None)


def parse(files: Files) -> tuple[Collection, Report]:
    """Everything that can be taken; a workload is taken with all its cases or not at all.

    Raises:
        FormatError: nothing can be taken; the first reason.
    """
    check_paths(files)
    root = _root(files)
    if root is None:
        raise FormatError(f"no {TITLE} set: there is no definitions/ folder")
    reader = _Reader({path.removeprefix(root): content for path, content in sorted(files.items())})
    collection = reader.collection()
    if collection == Collection():
        raise reader.first or FormatError(f"the {TITLE} set is empty")
    return collection, reader.notes.report()


@dataclass
class _Reader:
    files: Files
    notes: Notes = field(default_factory=Notes)
    first: FormatError | None = None
    """The first refusal, for a set of which nothing is taken."""
    cases: dict[str, list[Found]] = field(default_factory=lambda: defaultdict(list))
    """Cases by the definition that they name."""
    broken: dict[str, FormatError] = field(default_factory=dict)
    """Definitions with an unreadable line among their cases."""

    def collection(self) -> Collection:
        """All parts in the order in which they depend on each other."""
        for path in self._paths("workloads/", ".jsonl"):
            self._read_cases(path)
        workloads = tuple(self._workloads())
        known = {convert.foreign_name(workload) for workload in workloads}
        solutions = tuple(self._solutions(known))
        traces = tuple(
            trace for path in self._paths("traces/", ".jsonl") for trace in self._traces(path, known)
        )
        return Collection(workloads, solutions, traces)

    def _paths(self, folder: str, ending: str) -> list[str]:
        return [path for path in self.files if path.startswith(folder) and path.endswith(ending)]

    def _refuse(self, where: str, error: FormatError) -> None:
        self.first = self.first or error
        self.notes.refuse(where, error)

    def _read_cases(self, path: str) -> None:
        names = {path.rsplit("/", 1)[-1].removesuffix(".jsonl")}
        problem: FormatError | None = None
        try:
            for line, found in read_lines(Trace, self.files[path], path):
                if isinstance(found, FormatError):
                    problem = problem or found
                elif found.evaluation is not None:
                    problem = problem or FormatError("a result among the cases", path, line, "evaluation")
                else:
                    names.add(found.definition)
                    self.cases[found.definition].append(Found(path, line, found.workload))
        except FormatError as error:
            problem = error
        if problem is not None:
            self.broken |= dict.fromkeys(names, problem)

    def _workloads(self) -> Iterator[Workload]:
        seen: dict[str, str] = {}
        for path in self._paths("definitions/", ".json"):
            notes = Notes()
            try:
                workload = self._workload(path, seen, notes)
            except FormatError as error:
                self._refuse(path, error)
                continue
            self.notes.add(notes)
            self.notes.take(path, f"workload {workload.name} with {len(workload.cases)} cases")
            yield workload
        for name in sorted(self.cases.keys() - seen.keys()):
            where = self.cases[name][0].where
            self.notes.drop(where, f"cases of {name}, which no definition here is called")

    def _workload(self, path: str, seen: dict[str, str], notes: Notes) -> Workload:
        definition = read_record(Definition, self.files[path], path)
        twin = next(
            (old for old in seen if convert.identifier(old) == convert.identifier(definition.name)), ""
        )
        if twin:
            raise FormatError(f"{definition.name} is defined in {seen[twin]} as well", path, field="name")
        seen[definition.name] = path
        if problem := self.broken.get(definition.name):
            raise problem
        workload = convert.workload_of(definition, path, self.cases.get(definition.name, []), notes)
        return recorded.with_tensors(workload, self.files, ("", "workloads/"), notes)

    def _solutions(self, known: set[str]) -> Iterator[FlashInferSolution]:
        seen: dict[str, str] = {}
        for path in self._paths("solutions/", ".json"):
            try:
                solution = read_record(FlashInferSolution, self.files[path], path)
                if solution.name in seen:
                    raise FormatError(
                        f"{solution.name} is in {seen[solution.name]} as well", path, field="name"
                    )
                if solution.definition not in known:
                    raise FormatError(
                        f"{solution.definition} is not among the workloads", path, field="definition"
                    )
            except FormatError as error:
                self._refuse(path, error)
                continue
            seen[solution.name] = path
            self.notes.take(path, f"solution {solution.name}{_runs(solution)}")
            yield solution

    def _traces(self, path: str, known: set[str]) -> Iterator[Trace]:
        taken = 0
        try:
            for line, found in read_lines(Trace, self.files[path], path):
                if isinstance(found, FormatError):
                    self._refuse(f"{path}:{line}", found)
                elif found.evaluation is None or found.definition not in known:
                    reason = "a case among the results" if found.evaluation is None else "no such workload"
                    self.notes.drop(f"{path}:{line}", reason)
                else:
                    taken += 1
                    yield found
        except FormatError as error:
            self._refuse(path, error)
        self.notes.take(path, f"{taken} results")


def _runs(solution: FlashInferSolution) -> str:
    try:
        candidate_of(solution)
    except FormatError as error:
        return f", kept only: {error.problem}"
    return ""


# Writing -------------------------------------------------------------------------------------------------


def write(collection: Collection) -> tuple[dict[str, bytes], Report]:
    """The files of a trace set. Recorded inputs are among them where they came along.

    Raises:
        FormatError: something that FlashInfer's own loader would misread or refuse.
    """
    notes = Notes()
    files: dict[str, bytes] = {}
    folders: dict[str, str] = {}
    for workload in collection.workloads:
        definition = _definition(workload, notes)
        folder = definition.op_type or _NO_TYPE
        folders[definition.name] = f"{folder}/{workload.name}"
        path = folders[definition.name]
        add_file(files, f"definitions/{path}.json", json_file(definition.document()))
        specs = convert.specs_of(workload, notes)
        files[f"workloads/{path}.jsonl"] = json_lines(
            _case_line(definition.name, spec.document()) for spec in specs
        )
        for blob, content in recorded.files_of(workload).items():
            add_file(files, blob, content)
        notes.take(f"definitions/{path}.json", f"workload {workload.name} with {len(specs)} cases")
    for solution in collection.solutions:
        if not isinstance(solution, FlashInferSolution):
            notes.drop(solution.name, f"its build is not described in {TITLE}'s words")
        elif place := _known(folders, solution.definition, solution.name, notes):
            add_file(
                files, f"solutions/{place}/{programs.file_name(solution)}", json_file(solution.document())
            )
    lines: dict[str, list[dict[str, JsonValue]]] = defaultdict(list)
    for trace in collection.traces:
        if place := _known(folders, trace.definition, str(trace.solution), notes):
            lines[f"traces/{place}.jsonl"].append(trace.document())
    return files | {path: json_lines(documents) for path, documents in lines.items()}, notes.report()


def _definition(workload: Workload, notes: Notes) -> Definition:
    convert.check_types(workload, _TYPES, TITLE)
    for name, axis in workload.axes.items():
        if isinstance(axis, ExprAxis):
            raise FormatError(f"{TITLE} has no computed axes", workload.name, field=f"axes.{name}")
    if workload.custom_inputs_entrypoint is not None:
        raise FormatError(f"{TITLE} has no custom inputs", workload.name, field="custom_inputs_entrypoint")
    definition = convert.definition_of(workload, notes, literals=False)
    if definition.op_type is None:
        notes.change(workload.name, f"op_type is {_NO_TYPE}, since it may not be empty")
        return definition.model_copy(update={"op_type": _NO_TYPE})
    return definition


def _known(folders: dict[str, str], definition: str, name: str, notes: Notes) -> str | None:
    if definition not in folders:
        notes.drop(name, f"its workload {definition} is not among those written")
    return folders.get(definition)


def _case_line(definition: str, spec: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return {"definition": definition, "workload": spec, "solution": None, "evaluation": None}


FORMAT = Format("flashinfer_trace", TITLE, recognises, parse, write)
