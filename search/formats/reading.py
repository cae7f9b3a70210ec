"""Bytes of strangers to checked JSON, and JSON to bytes. Every refusal names the file, and the line or the field."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, TypeVar

import yaml
from pydantic import JsonValue, ValidationError

from search.formats.format import FormatError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from search.formats.format import Files
    from search.records import Record

FILE_LIMIT_BYTES = 32 << 20
YAML_LIMIT_BYTES = 256 << 10
_DEEPEST = 40
_SHOWN = 120
"""Characters of a stranger's value that a message repeats."""

R = TypeVar("R", bound="Record")


def read_record(kind: type[R], content: bytes, source: str) -> R:
    """One JSON document as a record.

    Raises:
        FormatError: it is no JSON, or not what the record says.
    """
    return validate(kind, _decode(text_of_file(content, source), source, None), source)


def read_lines(kind: type[R], content: bytes, source: str) -> Iterator[tuple[int, R | FormatError]]:
    """Records of a JSON Lines file with their 1-based lines; a bad line gives its error. Empty lines are skipped.

    Raises:
        FormatError: the file as a whole is no text.
    """
    for line, text in enumerate(text_of_file(content, source).split("\n"), start=1):
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


def yaml_document(content: bytes, source: str) -> JsonValue:
    """One YAML document of plain values, without aliases, which could grow without end.

    Raises:
        FormatError: it is none; names the line.
    """
    if len(content) > YAML_LIMIT_BYTES:
        raise FormatError(f"longer than {YAML_LIMIT_BYTES} bytes", source)
    try:
        for token in yaml.scan(text_of_file(content, source)):
            if isinstance(token, yaml.AliasToken):
                raise FormatError("an alias, which is not allowed here", source, token.start_mark.line + 1)
        document = yaml.load(content, _Loader)
        text = json.dumps(document, allow_nan=True)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise FormatError(f"not YAML: {str(error.problem)[:_SHOWN]}", source, line) from error
    except FormatError:
        raise
    except (yaml.YAMLError, TypeError, ValueError, RecursionError) as error:
        raise FormatError("not YAML of plain values", source) from error
    return _decode(text, source, None)


class _Loader(yaml.SafeLoader):
    """Refuses a name that appears twice in one mapping."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """A mapping; the last of two equal names would win in silence otherwise."""
        names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        if len(set(names)) != len(names):
            raise yaml.MarkedYAMLError(problem="a name appears twice", problem_mark=node.start_mark)
        return super().construct_mapping(node, deep)


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


def text_of_file(content: bytes, source: str) -> str:
    """The file as text, without a byte order mark.

    Raises:
        FormatError: it is empty, or not UTF-8.
    """
    if not content.strip():
        raise FormatError("the file is empty", source)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise FormatError(f"byte {error.start} is not UTF-8", source, line) from error


def json_file(document: JsonValue) -> bytes:
    """A JSON document as people like to read it."""
    return (json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def json_compact(document: JsonValue) -> bytes:
    """A JSON document in as few bytes as it takes, in ASCII."""
    return json.dumps(document, separators=(",", ":"), allow_nan=False).encode()


def json_lines(documents: Iterable[JsonValue]) -> bytes:
    """One document a line, in ASCII, since some readers take U+2028 and its like for the end of a line."""
    lines = [json.dumps(document, allow_nan=False) for document in documents]
    return "".join(f"{line}\n" for line in lines).encode()


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
