"""Reads the files named on a command line; what is wrong with one is said with its field and line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

import search
from search.records import SOURCE_LIMIT_BYTES, Candidate, Contract, Language, Record, SourceFile
from search.workload import Workload

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

SUFFIXES = {".cpp": Language.CPP, ".cc": Language.CPP, ".cu": Language.CUDA, ".py": Language.TRITON}
_DOCUMENT_LIMIT_BYTES = 8 << 20
"""Of a workload or contract."""
_LINE = re.compile(r"at line (\d+) column \d+")
_NAMED = re.compile(r"(case|input|output) (\w+):")
_SHIPPED = Path(next(iter(search.__path__))) / "workloads"
_WORDS_LIMIT = 500

Read = TypeVar("Read", bound=Record)


class InputError(Exception):
    """Something the caller gave is wrong."""

    def __init__(self, field: str, problem: str, line: int | None = None) -> None:
        """Say where; `line` is 1-based."""
        place = f"{field}, line {line}" if line else field
        super().__init__(f"{place}: {problem}")
        self.field = field
        self.problem = problem
        self.line = line

    def dump(self) -> dict[str, Any]:
        """JSON-ready."""
        return {"error": {"field": self.field, "line": self.line, "message": self.problem}}


def read_workload(name: str) -> Workload:
    """A shipped workload by slug, or any by file name.

    Raises:
        InputError: there is no such file, or it is no workload.
    """
    shipped = _SHIPPED / f"{name}.json"
    path = shipped if name.isidentifier() and shipped.is_file() else Path(name)
    return _record(Workload, path, "workload")


def read_contract(path: Path) -> Contract:
    """A contract.

    Raises:
        InputError: there is no such file, or it is no contract.
    """
    return _record(Contract, path, "contract")


def read_candidate(path: Path, language: str | None) -> Candidate:
    """One source file as a candidate; the judge looks closer.

    Raises:
        InputError: no such file, too long, empty, not UTF-8, a name or language that is not known.
    """
    word = language or SUFFIXES.get(path.suffix)
    if word is None:
        raise InputError("language", f"cannot tell the language of {path.name}; use --language")
    if word not in set(Language):
        raise InputError("language", f"{word!r} is none of {', '.join(Language)}")
    content = _text(path, "candidate", SOURCE_LIMIT_BYTES)
    if not content.strip():
        raise InputError("candidate", f"{path.name} is empty")
    try:
        file = SourceFile(path=path.name, content=content)
    except ValidationError as error:
        raise InputError("candidate", f"a file may not be called {path.name!r}") from error
    return Candidate(language=Language(word), sources=(file,))


def _text(path: Path, field: str, limit_bytes: int) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(limit_bytes + 1)
    except OSError as error:
        raise InputError(field, f"{path}: {error.strerror}") from error
    if len(data) > limit_bytes:
        raise InputError(field, f"{path.name} is longer than {limit_bytes} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(field, f"{path.name} is not UTF-8", line) from error


def _record(kind: type[Read], path: Path, field: str) -> Read:
    text = _text(path, field, _DOCUMENT_LIMIT_BYTES)
    if not text.strip():
        raise InputError(field, f"{path.name} is empty")
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        raise _named(field, error.errors(include_url=False, include_input=False)[0]) from error


def _named(field: str, first: ErrorDetails) -> InputError:
    """The first thing that is wrong, with its place in the document."""
    problem = first["msg"].removeprefix("Value error, ")[:_WORDS_LIMIT]
    if first["type"] == "json_invalid":
        found = _LINE.search(problem)
        return InputError(field, problem, int(found[1]) if found else None)
    place = ".".join(str(part) for part in first["loc"])
    if not place and (named := _NAMED.match(problem)):
        place = f"{named[1]}s.{named[2]}"
    return InputError(f"{field}.{place}" if place else field, problem)
