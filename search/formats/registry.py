"""All formats by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.formats import flashinfer_trace, sol_execbench
from search.formats.format import FormatError

if TYPE_CHECKING:
    from search.formats.format import Files, Format

FORMATS: dict[str, Format] = {
    "flashinfer_trace": flashinfer_trace.FORMAT,
    "sol_execbench": sol_execbench.FORMAT,
}


def recognise(files: Files) -> Format:
    """The format whose paths these are.

    Raises:
        FormatError: none, or more than one.
    """
    found = [form for form in FORMATS.values() if form.recognises(files)]
    if len(found) == 1:
        return found[0]
    names = " or ".join(form.title for form in found or FORMATS.values())
    raise FormatError(f"the files look like {names}; say which" if found else f"the files are no {names}")
