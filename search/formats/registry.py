"""All formats by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.formats import flashinfer_trace, gpu_mode, kernelbench, own, python_function, sol_execbench
from search.formats.format import FormatError
from search.formats.reading import text_of_file

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from search.formats.format import Files, Format, Notes
    from search.formats.probes import Probe, Probed
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
