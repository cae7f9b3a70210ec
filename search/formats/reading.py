"""Bytes of strangers to checked JSON, and JSON to bytes. Every refusal names the file, and the line or the field."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, TypeVar

from pydantic import JsonValue, ValidationError

from search.formats.format import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from search.formats.format import Files
    from search.records import Record

FILE_LIMIT_BYTES = 32 << 20
_DEEPEST = 40
_SHOWN = 120
"""Characters of a stranger's value that a message repeats."""

R = TypeVar("R", bound="Record")


def read_record(kind: type[R], content: bytes, source: str) -> R:
    """One JSON document as a record.

    Raises:
        FormatError: it is no JSON, or not what the record says.
    """
    return validate(kind, _decode(_text(content, source), source, None), source)


def read_lines(kind: type[R], content: bytes, source: str) -> Iterator[tuple[int, R | FormatError]]:
    """Records of a JSON Lines file with their 1-based lines; a bad line gives its error. Empty lines are skipped.

    Raises:
        FormatError: the file as a whole is no text.
    """
    for line, text in enumerate(_text(content, source).split("\n"), start=1):
        if not text.strip(" \t\r"):
            continue
        try:
            yield line, validate(kind, _decode(text, source, line), source, line)
        except FormatError as error:
            yield line, error


def validate(kind: type[R], document: JsonValue, source: str, line: int | None = None) -> R:
    """A record from decoded JSON.

    Raises:
        FormatError: names the first field that is wrong.
    """
    try:
        return kind.load(document)
    except ValidationError as error:
        raise from_validation(error, source, line) from error


def from_validation(error: ValidationError, source: str, line: int | None = None) -> FormatError:
    """The first complaint of pydantic as a format error."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    return FormatError(first["msg"].removeprefix("Value error, "), source, line, field)


def check_paths(files: Files) -> None:
    """Refuse paths that lead out of the set, and files too large to read.

    Raises:
        FormatError: names the file.
    """
    for path, content in files.items():
        if path.startswith("/") or ".." in path.split("/") or "\\" in path or not path.isprintable():
            raise FormatError("the path leads out of the set or holds odd characters", source=repr(path))
        if len(content) > FILE_LIMIT_BYTES:
            raise FormatError(f"longer than {FILE_LIMIT_BYTES} bytes", source=path)


def json_file(document: JsonValue) -> bytes:
    """A JSON document as people like to read it."""
    return (json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def json_lines(documents: Iterable[JsonValue]) -> bytes:
    """One document a line, in ASCII, since some readers take U+2028 and its like for the end of a line."""
    lines = [json.dumps(document, allow_nan=False) for document in documents]
    return "".join(f"{line}\n" for line in lines).encode()


def _text(content: bytes, source: str) -> str:
    if not content.strip():
        raise FormatError("the file is empty", source)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise FormatError(f"byte {error.start} is not UTF-8", source, line) from error


def _decode(text: str, source: str, line: int | None) -> JsonValue:
    try:
        document: JsonValue = json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        at = error.lineno if line is None else line
        raise FormatError(f"not JSON at column {error.colno}: {error.msg}", source, at) from error
    except RecursionError as error:
        raise FormatError(f"nested deeper than {_DEEPEST} levels", source, line) from error
    except _DoubleError as error:
        raise FormatError("the name appears twice in one object", source, line, str(error)) from error
    except ValueError as error:
        raise FormatError("not JSON: a number has too many digits", source, line) from error
    for field, problem in _bad_values(document, "", 0):
        raise FormatError(problem, source, line, field)
    return document


class _DoubleError(ValueError):
    """A name twice in one object."""


def _object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    made: dict[str, JsonValue] = {}
    for name, value in pairs:
        if name in made:
            raise _DoubleError(name[:_SHOWN])
        made[name] = value
    return made


_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def _bad_values(value: JsonValue, field: str, depth: int) -> Iterator[tuple[str, str]]:
    """Fields that hold what our records, JSON or a database cannot: NaN, infinity, NUL, half characters."""
    if depth > _DEEPEST:
        yield field, f"nested deeper than {_DEEPEST} levels"
    elif isinstance(value, float) and not math.isfinite(value):
        yield field, f"{value} is not a finite number"
    elif isinstance(value, str):
        if found := _UNSTORABLE.search(value):
            yield field, f"holds the character U+{ord(found.group()):04X}"
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _bad_values(name, field, depth)
            yield from _bad_values(inner, f"{field}.{name}" if field else name, depth + 1)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _bad_values(inner, f"{field}.{index}" if field else str(index), depth + 1)
