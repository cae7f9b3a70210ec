"""Programs of KernelBench: a file with `ModelNew`, whose weights have the names of the problem's.

It becomes a program of ours that is given inputs, weights and outputs. Which problem it solves is told by its name: that
of the problem's file, with or without an ending such as `_new`; or there is one problem alone.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from search.formats.flashinfer_trace import FlashInferSolution
from search.formats.format import FormatError
from search.formats.python_text import check_source, outside, parsed
from search.formats.reading import validate
from search.formats.templates import MARK, model_program

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from search.formats.format import Notes
    from search.workload import Workload

_CLASS = "ModelNew"
_HARDWARE = "any"


def is_solution(path: str, content: bytes) -> bool:
    """Whether a file defines such a program."""
    return path.endswith(".py") and b"class ModelNew" in content


def read_solution(
    path: str, content: bytes, workloads: Mapping[str, Workload], notes: Notes
) -> FlashInferSolution:
    """The program, for the problem that it is named after.

    Args:
        path: of its file.
        content: of its file.
        workloads: problems of the same upload by the name of their file.
        notes: takes what happens at import.

    Raises:
        FormatError: no such problem, or no such program.
    """
    text = check_source(path, content)
    tree = parsed(path, text)
    if not any(isinstance(node, ast.ClassDef) and node.name == _CLASS for node in tree.body):
        raise FormatError(f"it does not define {_CLASS}", path)
    stem = path.rsplit("/", 1)[-1].removesuffix(".py")
    workload = _problem(stem, path, workloads)
    outside(path, tree, notes)
    inputs, weights, settings = _called(workload)
    language = "triton" if re.search(r"^\s*(import|from) triton\b", text, re.MULTILINE) else "python"
    source = model_program(text, _CLASS, settings, (inputs, weights, list(workload.outputs)))
    notes.take(path, f"solution {stem} of {workload.name}")
    document: dict[str, JsonValue] = {
        "name": stem,
        "definition": workload.title,
        "author": "unknown",
        "spec": {
            "language": language,
            "target_hardware": [_HARDWARE],
            "entry_point": "main.py::run",
            "destination_passing_style": True,
        },
        "sources": [{"path": "main.py", "content": source}],
    }
    return validate(FlashInferSolution, document, path)


def _problem(stem: str, path: str, workloads: Mapping[str, Workload]) -> Workload:
    fitting = [name for name in workloads if stem == name or stem.startswith(f"{name}_")]
    if fitting:
        return workloads[max(fitting, key=len)]
    if len(workloads) == 1:
        return next(iter(workloads.values()))
    raise FormatError("it is named after no problem of this upload", path)


def _called(workload: Workload) -> tuple[list[str], dict[str, str], str]:
    """Inputs, names of the weights by path, and the settings of the model, from the reference that was made."""
    weights: dict[str, str] = {}
    settings = ""
    before, _, after = workload.reference.partition(MARK)
    for node in ast.walk(ast.parse(after)):
        match node:
            case ast.Assign(targets=[ast.Name(id="weights")], value=ast.Dict(keys=keys, values=values)):
                pairs = zip(keys, values, strict=True)
                weights = {ast.literal_eval(key): ast.unparse(value) for key, value in pairs if key}
    inputs = [name for name in workload.inputs if name not in weights.values()]
    for node in ast.parse(before).body:
        if not isinstance(node, ast.ClassDef) and not _is_inputs(node):
            settings += ast.unparse(node) + "\n"
    return inputs, weights, settings


def _is_inputs(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name == "get_inputs"
