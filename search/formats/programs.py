"""Programs of other formats as candidates of ours, and back.

Python entry points are called alike: `run(*inputs, *outputs)`, or `run(*inputs)` that returns its outputs.
C++ and CUDA programs of other formats are bound to Python by extensions that our ABI does not know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from search.formats.convert import identifier
from search.formats.format import FormatError
from search.formats.reading import from_validation
from search.knobs import KnobError, read_knobs, with_knobs
from search.records import Candidate, Language, SourceFile

if TYPE_CHECKING:
    from pydantic import JsonValue

    from search.formats.schema import Solution

PYTHON = (Language.TRITON, Language.PYTORCH)


def candidate(solution: Solution, language: Language) -> Candidate:
    """The program with its entry file first and the knob values that it holds.

    Raises:
        FormatError: a path or a `KNOBS` literal that we do not take.
    """
    entry = solution.spec.entry_path
    files = sorted(solution.sources, key=lambda file: file.path != entry)
    try:
        return Candidate(
            language=language,
            sources=tuple(SourceFile(path=file.path, content=file.content) for file in files),
            entry_point=solution.spec.entry_name,
            knobs=read_knobs(language, files[0].content),
        )
    except ValidationError as error:
        raise from_validation(error, solution.name) from error
    except KnobError as error:
        raise FormatError(str(error), solution.name, field=entry) from error


def document(program: Candidate, name: str, definition: str, author: str) -> dict[str, JsonValue]:
    """What all formats say of a solution but its languages, with the knob values written into its source.

    Raises:
        FormatError: a language whose ABI is ours alone, or a knob that the source does not have.
    """
    if program.language not in PYTHON:
        raise FormatError(f"{program.language} programs are called by our own ABI, so they stay here", name)
    first, *rest = program.sources
    try:
        content = with_knobs(program.language, first.content, program.knobs)
    except KnobError as error:
        raise FormatError(str(error), name, field=first.path) from error
    sources = [(first.path, content), *((file.path, file.content) for file in rest)]
    return {
        "name": name,
        "definition": definition,
        "author": author,
        "spec": {"entry_point": f"{first.path}::{program.entry_point}", "destination_passing_style": True},
        "sources": [{"path": path, "content": text} for path, text in sources],
    }


def file_name(solution: Solution) -> str:
    """A file name from the solution's name."""
    return f"{identifier(solution.name)}.json"
