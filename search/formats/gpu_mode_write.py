"""Workloads as GPU MODE tasks: a folder each, with `task.yml` and `reference.py`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import yaml

from search.formats.convert import file_stem
from search.formats.format import FormatError, Notes, add_file
from search.formats.gpu_mode_source import choices_in, original
from search.formats.templates import axis_name, drawn
from search.workload import CustomInput, ExprAxis, SafetensorsInput, VarAxis

if TYPE_CHECKING:
    from search.formats.format import Collection, Report
    from search.workload import Case, Workload

_FIRST_SEED = 1001
_FILES = [
    {"name": "submission.py", "source": "@SUBMISSION@"},
    {"name": "task.py", "source": "task.py"},
    {"name": "utils.py", "source": "../utils.py"},
    {"name": "reference.py", "source": "reference.py"},
    {"name": "eval.py", "source": "../eval.py"},
]
_TASK = '"""Types of the task."""\n\nfrom typing import Any\n\ninput_t = Any\noutput_t = Any\n'


def write(collection: Collection) -> tuple[dict[str, bytes], Report]:
    """A folder for each workload. `utils.py` and `eval.py` are GPU MODE's own and stay where they are.

    Raises:
        FormatError: something that the format cannot say.
    """
    notes = Notes()
    files: dict[str, bytes] = {}
    for workload in collection.workloads:
        text = original(workload.reference)
        shown = [case for case in workload.cases if not case.hidden]
        if len(shown) < len(workload.cases):
            notes.drop(workload.name, f"{len(workload.cases) - len(shown)} hidden cases")
        folder = file_stem(workload)
        add_file(files, f"{folder}/reference.py", (text or _reference(workload, shown, notes)).encode())
        files[f"{folder}/task.yml"] = _task(workload, shown).encode()
        files[f"{folder}/task.py"] = _TASK.encode()
        notes.take(f"{folder}/task.yml", f"workload {workload.name} with {len(shown)} cases")
    for solution in collection.solutions:
        notes.drop(solution.name, "a task keeps no programs")
    return files, notes.report()


def _task(workload: Workload, shown: list[Case]) -> str:
    choices = choices_in(workload.reference) if original(workload.reference) is not None else {}
    rows: dict[bool, list[dict[str, object]]] = {False: [], True: []}
    for place, case in enumerate(shown):
        row: dict[str, object] = {
            name: choices[name][size] if name in choices else size for name, size in case.axes.items()
        }
        rows[case.timed].append({**row, "seed": _FIRST_SEED + place})
    document = {
        "files": _FILES,
        "lang": "py",
        "description": workload.description,
        "config": {"main": "eval.py"},
        "tests": rows[False],
        "benchmarks": rows[True],
    }
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)


_SOURCE = """import torch
from task import input_t, output_t
from utils import make_match_reference

{reference}

{sizes}

def generate_input({arguments}seed: int) -> input_t:
    torch.manual_seed(seed)
{computed}    return (
{inputs}
    )


def ref_kernel(data: input_t) -> output_t:
    return run(*data)


check_implementation = make_match_reference(ref_kernel, rtol={rtol!r}, atol={atol!r})
"""


def _reference(workload: Workload, shown: list[Case], notes: Notes) -> str:
    if not shown:
        raise FormatError("no case that may be shown", workload.name)
    case = shown[0]
    for name, made in case.inputs.items():
        if isinstance(made, CustomInput | SafetensorsInput):
            raise FormatError(f"a task cannot say how {name} is made", workload.name, field=f"inputs.{name}")
    if any(other.inputs != case.inputs for other in shown):
        notes.change(workload.name, f"all cases draw their inputs as {case.name} does")
    if workload.policy.torch_ops or any(output.comparator for output in workload.outputs.values()):
        notes.drop(workload.name, "its policy and comparators")
    allowed = case.tolerance
    if allowed is None:
        notes.change(workload.name, "our tolerance cannot be said: rtol and atol are 0.01")
    constant, variable = _axes(workload)
    lines = [f"        {drawn(workload, case, name)}," for name in workload.inputs]
    return _SOURCE.format(
        reference=workload.reference.strip("\n"),
        sizes="".join(constant),
        arguments="".join(f"{name}: int, " for name in case.axes),
        computed="".join(f"    {line}" for line in variable),
        inputs="\n".join(lines),
        rtol=allowed.max_rtol if allowed else 1e-2,
        atol=allowed.max_atol if allowed else 1e-2,
    )


def _axes(workload: Workload) -> tuple[list[str], list[str]]:
    """Lines that set the constant sizes, and those that depend on the case."""
    constant: list[str] = []
    variable: list[str] = []
    for name, axis in workload.axes.items():
        match axis:
            case VarAxis():
                variable.append(f"{axis_name(name)} = {name}\n")
            case ExprAxis(expression=text):
                formula = re.sub(r"[A-Za-z_]\w*", lambda found: axis_name(found.group()), text)
                variable.append(f"{axis_name(name)} = int({formula})\n")
            case _:
                constant.append(f"{axis_name(name)} = {axis.value}\n")
    return constant, variable
