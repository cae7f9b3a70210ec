"""One source file as a candidate: the language by its name and its imports, the knob values by its own literal."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from pydantic import ValidationError

from search.formats.format import FormatError
from search.formats.python_text import check_source
from search.formats.reading import from_validation
from search.knobs import KnobError, read_knobs
from search.records import Candidate, Language, SourceFile

_LANGUAGES = {".cpp": Language.CPP, ".cu": Language.CUDA, ".py": Language.PYTORCH}
_TRITON = re.compile(r"^\s*(?:import|from)\s+triton\b", re.MULTILINE)


def candidate_of_file(name: str, content: bytes) -> Candidate:
    """The program.

    Raises:
        FormatError: another kind of file, no text, or a knob literal that is none.
    """
    language = _LANGUAGES.get(PurePosixPath(name).suffix)
    if language is None:
        raise FormatError(f"a program ends in {', '.join(_LANGUAGES)}", name[:200])
    text = check_source(name, content)
    if language is Language.PYTORCH and _TRITON.search(text):
        language = Language.TRITON
    try:
        file = SourceFile(path=name, content=text)
        return Candidate(language=language, sources=(file,), knobs=read_knobs(language, text))
    except ValidationError as error:
        raise from_validation(error, name) from error
    except KnobError as error:
        raise FormatError(str(error), name) from error
