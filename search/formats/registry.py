"""All formats by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from search.formats import flashinfer_trace, gpu_mode, kernelbench, own, python_function, sol_execbench
from search.formats.format import FormatError
from search.formats.probes import Probed
from search.formats.reading import text_of_file
from search.formats.shapes import Unread

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pydantic import JsonValue

    from search.formats.format import Files, Format, Notes
    from search.formats.probes import Probe
    from search.workload import Workload

FORMATS: dict[str, Format] = {
    "kernelsite": own.FORMAT,
    "flashinfer_trace": flashinfer_trace.FORMAT,
    "sol_execbench": sol_execbench.FORMAT,
    "kernelbench": kernelbench.FORMAT,
    "gpu_mode": gpu_mode.FORMAT,
    "python_function": python_function.FORMAT,
}

FINISH: dict[str, Callable[[Probe, Sequence[Probed], Notes], Workload]] = {
    "kernelbench": kernelbench.finish,
    "gpu_mode": gpu_mode.finish,
    "python_function": python_function.finish,
}
"""Formats whose programs may need a probe; each makes a workload of what the probe found."""


def finish(probe: Probe, told: Sequence[JsonValue], notes: Notes) -> Workload:
    """The workload of a program that was run.

    Raises:
        FormatError: what it told is of another kind, or does not fit our records.
    """
    try:
        cases = [Probed.load(one) for one in told]
        if not cases:
            raise FormatError("it told nothing", probe.where)
        return FINISH[probe.format](probe, cases, notes)
    except Unread as error:
        raise FormatError(error.problem, probe.where, error.line) from error
    except ValidationError as error:
        first = error.errors()[0]
        raise FormatError(
            f"what it told cannot be a workload: {first['msg']}", probe.where, field=_place(first["loc"])
        ) from error
    except LookupError as error:
        raise FormatError("its cases differ in what they take", probe.where) from error


def _place(parts: Sequence[int | str]) -> str:
    return ".".join(map(str, parts))[:200]


def recognise(files: Files) -> Format:
    """The format whose paths these are.

    Raises:
        FormatError: none, or more than one; or a file is no text, which would explain it.
    """
    found = [form for form in FORMATS.values() if form.recognises(files)]
    if len(found) == 1:
        return found[0]
    if not found:
        for path, content in files.items():
            if not path.endswith(".safetensors"):
                text_of_file(content, path)
    names = " or ".join(form.title for form in found or FORMATS.values())
    raise FormatError(f"the files look like {names}; say which" if found else f"the files are no {names}")
