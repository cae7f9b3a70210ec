"""Checks of workload drafts: every problem with its text, line and field. Nothing of a reference runs here."""

from __future__ import annotations

import ast
import math
import re
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from kernelsite.catalog import workload_text
from kernelsite.catalog.plain import hidden_count, visible
from search.expressions import evaluate_expression
from search.formats.format import FormatError
from search.formats.python_text import check_source, parsed
from search.records import SOURCE_LIMIT_BYTES, Record
from search.workload import ITEM_BYTES, Workload

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelsite.catalog.workload_text import Definition, Path
    from search.workload import Case

DEFINITION, REFERENCE = "definition", "reference"
CASE_LIMIT_BYTES = 128 << 30
"""Inputs and outputs of one case; no device holds more."""
_MOST_CASES = 500
_PROBLEM_LIMIT = 40
_FIELDS = frozenset(Workload.model_fields) - {"reference"}
_PLACE = re.compile(
    r"(?:(?P<kind>axis|case|input|output|cases)(?: (?P<name>\w+))?: )?(?P<rest>.*)", re.DOTALL
)
_LISTS = {"axis": "axes", "case": "cases", "input": "inputs", "output": "outputs", "cases": "cases"}
_NETWORK = frozenset(
    [
        "aiohttp",
        "boto3",
        "ftplib",
        "grpc",
        "httpx",
        "httpx2",
        "paramiko",
        "requests",
        "smtplib",
        "socket",
        "ssl",
        "telnetlib",
        "urllib",
        "urllib3",
        "websockets",
        "xmlrpc",
    ]
)
"""Modules that are of use with a network only; `http` too, whose status codes nobody needs in a reference."""


class Problem(Record):
    """One thing that is wrong with a draft."""

    place: str
    """`definition` or `reference`."""
    field: str = ""
    line: int | None = None
    text: str


class Report(Record):
    """What a check found."""

    problems: tuple[Problem, ...] = ()
    document: dict[str, Any] | None = None
    """The workload, where it is sound."""

    @property
    def workload(self) -> Workload | None:
        """The workload, where it is sound."""
        return None if self.document is None else Workload.load(self.document)


def check(definition: str, reference: str) -> Report:
    """Check the two texts of a draft."""
    wrong = list(_reference_problems(reference))
    try:
        read = workload_text.read(definition)
    except workload_text.TextError as error:
        place = Problem(
            place=DEFINITION, field=_dotted(error.path), line=error.line, text=_readable(error.text)
        )
        return _report([place, *wrong], None)
    # A reference that is wrong may hold what no record takes.
    workload, found = _workload(read, "" if wrong else reference)
    if workload:
        found += [*_fit(workload, read), *_signature(workload)] if not wrong else _fit(workload, read)
    return _report([*_invisible(definition), *found, *wrong], workload)


def _report(problems: list[Problem], workload: Workload | None) -> Report:
    document = None if problems or workload is None else workload.dump()
    return Report(problems=tuple(problems[:_PROBLEM_LIMIT]), document=document)


def _problem(read: Definition, path: Path, text: str) -> Problem:
    return Problem(place=DEFINITION, field=_dotted(path), line=read.line_of(path), text=_readable(text))


def _dotted(path: Path) -> str:
    return visible(".".join(str(step) for step in path))[:200]


def _readable(text: str) -> str:
    return visible(text)[:400]


# Definition ---------------------------------------------------------------------------------------


def _workload(read: Definition, reference: str) -> tuple[Workload | None, list[Problem]]:
    document = read.document
    if not isinstance(document, dict):
        return None, [_problem(read, (), "Write fields: name, title, op_type, axes, inputs, outputs, cases.")]
    if "reference" in document:
        return None, [_problem(read, ("reference",), "The reference has a text of its own, beside this one.")]
    unknown = [_problem(read, (name,), "There is no such field.") for name in document if name not in _FIELDS]
    known = {name: value for name, value in document.items() if name in _FIELDS}
    try:
        return Workload.load({**known, "reference": reference}), unknown
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False, include_context=False)
        return None, [*unknown, *(_located(read, one["loc"], one["msg"]) for one in found)]
    except (ValueError, RecursionError) as error:
        return None, [*unknown, _problem(read, (), str(error))]


def _located(read: Definition, loc: tuple[str | int, ...], message: str) -> Problem:
    """A complaint of the records at the field that it means; complaints about the whole name it in their text."""
    text = message.removeprefix("Value error, ")
    if loc:
        return _problem(read, _path(read.document, loc), _sentence(text))
    match = _PLACE.fullmatch(text)
    if match is None or match["kind"] is None:
        return _problem(read, (), _sentence(text))
    group = _LISTS[match["kind"]]
    path = _named(read.document, group, match["name"] or "")
    return _problem(read, path, _sentence(match["rest"]))


def _path(document: Any, loc: tuple[str | int, ...]) -> Path:
    """The place in the text: records add the word that tells which kind of thing was tried, which no text has."""
    path: list[str | int] = []
    node: Any = document
    for number, step in enumerate(loc):
        if _has(node, step):
            node = node[step]
            path.append(step)
        elif number == len(loc) - 1 and isinstance(node, dict) and node.get("type") != step:
            path.append(step)  # a field that is missing
    return tuple(path)


def _has(node: Any, step: str | int) -> bool:
    if isinstance(node, dict):
        return step in node
    return isinstance(node, list) and isinstance(step, int) and step < len(node)


def _named(document: Any, group: str, name: str) -> Path:
    entries = document.get(group)
    if isinstance(entries, dict) and name in entries:
        return (group, name)
    if isinstance(entries, list):
        for number, entry in enumerate(entries):
            if isinstance(entry, dict) and entry.get("name") == name:
                return (group, number)
    return (group,)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}".rstrip(".") + "."


def _unseen(line: str) -> bool:
    """Whether a line holds what nobody sees, or what stands for bytes that were no text."""
    return bool(hidden_count(line)) or "\N{REPLACEMENT CHARACTER}" in line


def _invisible(definition: str) -> list[Problem]:
    """What is shown must be what is judged."""
    return [
        Problem(
            place=DEFINITION,
            line=number,
            text=f"Holds a character that cannot be seen or read: {visible(line)[:100]}",
        )
        for number, line in enumerate(definition.split("\n"), 1)
        if _unseen(line)
    ][:10]


def _fit(workload: Workload, read: Definition) -> list[Problem]:
    """What the records allow and no judge can do."""
    found: list[Problem] = []
    if len(workload.cases) > _MOST_CASES:
        found.append(_problem(read, ("cases",), f"{len(workload.cases)} cases; at most {_MOST_CASES}."))
    if not any(case.timed for case in workload.cases):
        found.append(_problem(read, ("cases",), "No case is timed, so nothing can be compared."))
    if all(case.hidden for case in workload.cases):
        found.append(_problem(read, ("cases",), "Every case is hidden, so no agent knows what to write."))
    for number, case in enumerate(workload.cases):
        if (size := case_bytes(workload, case)) > CASE_LIMIT_BYTES:
            text = f"Inputs and outputs take {size / 2**30:,.0f} GiB; at most {CASE_LIMIT_BYTES >> 30} fit a device."
            found.append(_problem(read, ("cases", number, "axes"), text))
    return [*found, *_floor(workload, read)]


def _floor(workload: Workload, read: Definition) -> Iterator[Problem]:
    for name in ("bytes", "operations"):
        if text := getattr(workload.floor, name):
            try:
                for case in workload.cases:
                    evaluate_expression(text, workload.sizes(case))
            except ValueError as error:
                yield _problem(read, ("floor", name), _sentence(str(error)))


def case_bytes(workload: Workload, case: Case) -> int:
    """Bytes of the inputs and outputs of a case."""
    sizes = workload.sizes(case)
    tensors = [*workload.inputs.values(), *workload.outputs.values()]
    return sum(math.prod(workload.shape(one, sizes)) * ITEM_BYTES[one.dtype] for one in tensors)


# Reference ----------------------------------------------------------------------------------------


def _reference_problems(text: str) -> Iterator[Problem]:
    if not text.strip():
        yield _in_reference(
            "There is no reference. Write a function run that takes the inputs and returns the outputs."
        )
        return
    if len(data := text.encode("utf-8", "replace")) > SOURCE_LIMIT_BYTES:
        yield _in_reference(
            f"The source is {len(data) >> 10} KiB long; at most {SOURCE_LIMIT_BYTES >> 10} KiB."
        )
        return
    for number, line in enumerate(text.split("\n"), 1):
        if _unseen(line):
            yield _in_reference(
                f"Holds a character that cannot be seen or read: {visible(line)[:100]}", number
            )
            return
    try:
        tree = parsed(REFERENCE, check_source(REFERENCE, data))
    except FormatError as error:
        yield _in_reference(_sentence(error.problem), error.line)
        return
    yield from _network(tree)
    if _functions(tree).get("run") is None:
        yield _in_reference("It does not define a function run.")


def _in_reference(text: str, line: int | None = None) -> Problem:
    return Problem(place=REFERENCE, line=line, text=_readable(text))


def _network(tree: ast.Module) -> Iterator[Problem]:
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        for name in names:
            if name.split(".")[0] in _NETWORK or name.startswith("http."):
                text = f"Imports {name[:60]}. A reference runs without a network and computes from its inputs alone."
                yield _in_reference(text, getattr(node, "lineno", None))


def _functions(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def _signature(workload: Workload) -> list[Problem]:
    """Whether `run` takes as many arguments as there are inputs, and the maker of custom inputs is there."""
    functions = _functions(ast.parse(workload.reference))
    found: list[Problem] = []
    run = functions["run"]
    arguments, inputs = run.args, len(workload.inputs)
    most = len(arguments.posonlyargs) + len(arguments.args)
    least = most - len(arguments.defaults)
    if not least <= inputs or not (inputs <= most or arguments.vararg):
        found.append(_in_reference(f"run takes {most} arguments, but there are {inputs} inputs.", run.lineno))
    entry = workload.custom_inputs_entrypoint
    if entry is not None and entry not in functions:
        found.append(_in_reference(f"There is no function {entry}, which should make the custom inputs."))
    return found
