"""Python sources of strangers: decoded, parsed, looked at; never executed."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from search.formats.format import FormatError
from search.formats.reading import text_of_file
from search.records import SOURCE_LIMIT_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from search.formats.format import Notes

_BIDIRECTIONAL = re.compile("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]")
_PRESENT = frozenset(
    [
        "torch",
        "math",
        "typing",
        "numpy",
        "random",
        "functools",
        "collections",
        "itertools",
        "dataclasses",
        "einops",
        "__future__",
    ]
)
"""Modules that a device worker has, or that are part of Python."""
_DEEPEST = 120
_MOST_PROGRAMS = 1000
_QUIET = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.AugAssign)


def check_source(path: str, content: bytes) -> str:
    """The text of a source.

    Raises:
        FormatError: too long, not UTF-8, empty, or with characters that make it look like another program.
    """
    if len(content) > SOURCE_LIMIT_BYTES:
        raise FormatError(f"a source longer than {SOURCE_LIMIT_BYTES} bytes", path)
    text = text_of_file(content, path)
    check_characters(path, text)
    return text


def check_count(paths: Sequence[str]) -> None:
    """Refuse more programs than can be read in a minute or so.

    Raises:
        FormatError: names the first that is too many.
    """
    if len(paths) > _MOST_PROGRAMS:
        raise FormatError(f"more than {_MOST_PROGRAMS} programs at once", paths[_MOST_PROGRAMS])


def check_characters(path: str, text: str, field: str = "") -> None:
    """Refuse characters that turn the direction of text, so that what is shown is not what runs (CVE-2021-42574).

    Raises:
        FormatError: names the line.
    """
    found = _BIDIRECTIONAL.search(text) or re.search("[\x00\ud800-\udfff]", text)
    if found:
        line = text.count("\n", 0, found.start()) + 1
        raise FormatError(f"holds the character U+{ord(found.group()):04X}", path, line, field)


def parsed(path: str, text: str) -> ast.Module:
    """The syntax tree.

    Raises:
        FormatError: it is not Python; names the line.
    """
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise FormatError(f"not Python: {error.msg}", path, error.lineno) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise FormatError("it cannot be read as Python", path) from error
    _check_depth(path, tree)
    return tree


def _check_depth(path: str, tree: ast.AST) -> None:
    """Refuse what would overflow the stack of whoever follows the tree."""
    level: list[ast.AST] = [tree]
    for _ in range(_DEEPEST):
        level = [inner for node in level for inner in ast.iter_child_nodes(node)]
    line = next((node.lineno for node in level if isinstance(node, ast.stmt | ast.expr)), None)
    if level:
        raise FormatError(f"code that nests deeper than {_DEEPEST} levels", path, line)


def outside(path: str, tree: ast.Module, notes: Notes, known: frozenset[str] = frozenset()) -> None:
    """Note what would happen at import, and which modules are asked for. Here nothing of it happens."""
    for node in tree.body:
        where = f"{path}:{node.lineno}"
        if not isinstance(node, _QUIET) and not _is_harmless(node):
            notes.change(where, "this runs at import: not here, only in the sandbox of a device worker")
        for name in _imported(node):
            if name.split(".")[0] not in _PRESENT | known:
                notes.change(where, f"needs the module {name[:60]}, which a device worker may not have")


def _is_harmless(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    return isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)


def _imported(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []
