"""The KNOBS literal of a source: where a program says which values may be tuned without touching its structure.

Python sources hold one module-level literal `KNOBS = {...}`; C++ and CUDA sources start with the line
`// KNOBS {json}`. Values are whole numbers, booleans or words. A source without the literal has no knobs.
"""

from __future__ import annotations

import ast
import json
import re
from typing import TYPE_CHECKING

from search.records import KnobValue, Language

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FIRST_LINE = re.compile(r"// KNOBS (?P<json>.*)")
_NEWLINE = re.compile(rb"\r\n|\r|\n")

Knobs = dict[str, KnobValue]


class KnobError(ValueError):
    """A source or a value that the knob convention does not allow; `line` is 1-based, None for a bare value."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        """Say the problem, with its line in front when there is one."""
        super().__init__(problem if line is None else f"line {line}: {problem}")
        self.line = line


def read_knobs(language: Language, source: str) -> Knobs:
    """Knobs of a source with the values it holds; empty when it has no literal.

    Raises:
        KnobError: the literal is there but is not a flat dictionary of knob values.
    """
    if _is_python(language):
        return _read_python(source)
    return _read_first_line(source)


def with_knobs(language: Language, source: str, values: Mapping[str, KnobValue]) -> str:
    """The same source with other knob values; knobs not named keep theirs, all else keeps its bytes.

    Raises:
        KnobError: a name the source does not have, or a value of another type than the one it replaces.
    """
    held = read_knobs(language, source)
    if not held and not values:
        return source
    line = _literal_line(language, source)
    for name, value in values.items():
        if name not in held:
            raise KnobError(f"the source has no knob {name}", line)
        if type(held[name]) is not type(value):
            kind = type(held[name]).__name__
            raise KnobError(f"knob {name} takes a value of type {kind}, not {value!r}", line)
    merged = held | dict(values)
    _check(merged, line or 1)
    if _is_python(language):
        return _replace_literal(source, repr(merged))
    return f"// KNOBS {json.dumps(merged)}" + source[len(source.split("\n", 1)[0]) :]


def macro_flags(values: Mapping[str, KnobValue]) -> list[str]:
    """Compiler flags that define each knob as a macro, in the order of their names; booleans become 1 and 0.

    Raises:
        KnobError: a name or word that would not be one macro with one token.
    """
    _check(values, None)
    return [
        f"-D{name}={int(value) if isinstance(value, bool) else value}"
        for name, value in sorted(values.items())
    ]


def _is_python(language: Language) -> bool:
    return language in {Language.TRITON, Language.PYTORCH}


def _literal_line(language: Language, source: str) -> int | None:
    if not _is_python(language):
        return 1
    literal = _find_literal(source)
    return literal.lineno if literal else None


def _check(values: Mapping[str, KnobValue], line: int | None) -> None:
    for name, value in values.items():
        if not _NAME.fullmatch(name):
            raise KnobError(f"knob name {name!r} is not of the form BLOCK_M", line)
        if not isinstance(value, (bool, int, str)):
            raise KnobError(f"knob {name} must be a whole number, a boolean or a word, not {value!r}", line)
        if isinstance(value, str) and not _WORD.fullmatch(value):
            raise KnobError(f"knob {name}: {value!r} is not one word", line)


# C++ and CUDA ------------------------------------------------------------------------------------


def _read_first_line(source: str) -> Knobs:
    found = _FIRST_LINE.match(source)
    if not found:
        return {}
    try:
        document = json.loads(found["json"])
    except (json.JSONDecodeError, RecursionError) as error:
        raise KnobError(f"KNOBS is not JSON: {error}", 1) from error
    if not isinstance(document, dict):
        raise KnobError("KNOBS must be a JSON object", 1)
    _check(document, 1)
    return document


# Python ------------------------------------------------------------------------------------------


def _read_python(source: str) -> Knobs:
    literal = _find_literal(source)
    if literal is None:
        return {}
    if not isinstance(literal, ast.Dict):
        raise KnobError("KNOBS must be a dictionary literal", literal.lineno)
    knobs: Knobs = {}
    for key, value in zip(literal.keys, literal.values, strict=True):
        line = value.lineno
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            raise KnobError("a name in KNOBS must be a plain string", line)
        if key.value in knobs:
            raise KnobError(f"knob {key.value} is there twice", line)
        knobs[key.value] = _constant(key.value, value)
        _check({key.value: knobs[key.value]}, line)
    return knobs


def _constant(name: str, node: ast.expr) -> KnobValue:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError):
        value = None
    if not isinstance(value, (bool, int, str)):
        raise KnobError(f"knob {name} must be a whole number, a boolean or a word", node.lineno)
    return value


def _find_literal(source: str) -> ast.expr | None:
    try:
        module = ast.parse(source)
    except SyntaxError as error:
        raise KnobError(f"the source does not parse: {error.msg}", error.lineno or 1) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise KnobError(f"the source does not parse: {error}", 1) from error
    found: ast.expr | None = None
    for statement in module.body:
        value = _assigned(statement)
        if value is None:
            continue
        if found is not None:
            raise KnobError("KNOBS is assigned a second time", statement.lineno)
        found = value
    return found


def _assigned(statement: ast.stmt) -> ast.expr | None:
    match statement:
        case ast.Assign(targets=[ast.Name(id="KNOBS")], value=value):
            return value
        case ast.AnnAssign(target=ast.Name(id="KNOBS"), value=ast.expr() as value):
            return value
    return None


def _replace_literal(source: str, text: str) -> str:
    literal = _find_literal(source)
    if literal is None or literal.end_lineno is None or literal.end_col_offset is None:
        raise KnobError("the source has no KNOBS", 1)
    # Positions of `ast` count bytes, so the cut is made in bytes.
    data = source.encode()
    starts = [0, *(newline.end() for newline in _NEWLINE.finditer(data))]
    first = starts[literal.lineno - 1] + literal.col_offset
    last = starts[literal.end_lineno - 1] + literal.end_col_offset
    return (data[:first] + text.encode() + data[last:]).decode()
