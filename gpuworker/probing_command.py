"""`python -m gpuworker probe PATH` and `profile PATH`: programs are run once behind the walls, and become workloads.

`probe` is for programs whose text does not tell their shapes; `profile` for a KernelBench file, or a function or
module with example inputs, whose operators are ranked by Amdahl's law. Both write `NAME.workload.json`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from gpuworker.probe_job import DIED, SPARE_S
from gpuworker.reading import InputError
from gpuworker.runner import StartError
from search.formats.containers import UploadError, read_upload
from search.formats.format import FormatError, Notes
from search.formats.operators import rank
from search.formats.own import ENDING
from search.formats.probes import Probe
from search.formats.reading import json_file
from search.formats.registry import finish
from search.records import SOURCE_LIMIT_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gpuworker.runner import Runner
    from search.formats.operators import Ranked
    from search.workload import Workload

_PATIENCE_S = 120.0
_SHOWN = 12
_INPUTS = ".inputs.json"


def wanted(path: Path) -> list[Probe]:
    """Programs of an upload that have to be run to be understood.

    Raises:
        InputError: it cannot be read, or nothing in it has to be run.
    """
    try:
        upload = read_upload(path)
    except (UploadError, OSError) as error:
        raise InputError("path", str(error)) from error
    found = [item.probe for item in upload.items if item.probe is not None]
    if not found:
        raise InputError("path", "nothing in it has to be run: `python -m search import` reads it")
    return found


def program(path: Path) -> Probe:
    """One file to profile, with the inputs beside it where there are some.

    Raises:
        InputError: it cannot be read.
    """
    described = path.with_name(path.name.removesuffix(".py") + _INPUTS)
    files = [path, described] if described.is_file() else [path]
    try:
        texts = {file.name: file.read_bytes()[:SOURCE_LIMIT_BYTES].decode() for file in files}
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("path", str(error)) from error
    form = "python_function" if len(files) > 1 else "kernelbench"
    return Probe(format=form, name=path.stem, where=path.name, line=None, problem="", files=texts)


def probe(runner: Runner, probes: Sequence[Probe], out: Path | None) -> tuple[str, int]:
    """Run every program and finish its workload.

    Returns:
        Lines for people, and 1 where a program could not become a workload.
    """
    lines, code = [], 0
    for one in probes:
        try:
            workload = finish(one, _ask(runner, one, "shapes"), Notes())
        except (StartError, FormatError) as error:
            lines.append(f"{one.where}: {error}")
            code = 1
            continue
        lines.append(f"{one.where}: workload {workload.name} with {len(workload.cases)} cases")
        lines += _written([workload], out)
    return "\n".join(lines), code


def profile(runner: Runner, one: Probe, out: Path | None, most: int, *, as_json: bool) -> str:
    """Operators of a program by their time, and the top ones as workloads.

    Raises:
        StartError: it could not be run, or told nonsense.
    """
    try:
        ranked, workloads = rank(_ask(runner, one, "profile"), one.name, most)
    except ValidationError as error:
        raise StartError(f"{one.where}: it told no operators") from error
    written = _written(workloads, out)
    if as_json:
        return json.dumps([row.dump() for row in ranked], indent=1)
    return "\n".join([*(_line(row) for row in ranked[:_SHOWN]), *written])


def _line(row: Ranked) -> str:
    one = row.operator
    told = f"workload {row.offered}" if row.offered else row.why or "not among the first"
    return f"{row.share:6.1%}  {one.seconds * 1e6:9.1f} us  at most {row.limit:.2f}x  {one.calls:g} x {one.name}: {told}"


def _ask(runner: Runner, one: Probe, task: str) -> list[Any]:
    document = {"probe": one.dump(), "task": task, "patience_s": _PATIENCE_S}
    answer = runner.ask(document, _PATIENCE_S + SPARE_S)
    if answer is None or "told" not in answer:
        words = [answer["message"], answer.get("log", "")] if answer else [DIED]
        raise StartError("\n".join(word for word in words if word))
    told: list[Any] = answer["told"]
    return told


def _written(workloads: Sequence[Workload], out: Path | None) -> list[str]:
    if out is None:
        return []
    out.mkdir(parents=True, exist_ok=True)
    lines = []
    for workload in workloads:
        path = out / f"{workload.name}{ENDING}"
        path.write_bytes(json_file(workload.dump()))
        lines.append(f"  written: {path}")
    return lines
