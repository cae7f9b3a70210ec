"""Whether two programs are the same but for comments, whitespace, formatting and docstrings."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from search.records import Language, content_hash

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from search.records import Candidate

_C_TOKEN = re.compile(
    r"(?P<comment>//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z))"
    r"|(?P<raw>R\"(?P<mark>[^()\\\s]{0,16})\(.*?(?:\)(?P=mark)\"|\Z))"
    r"|(?P<text>\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')"
    r"|(?P<directive>(?m:^)[ \t]*\#(?:\\\n|[^\n])*)"
    r"|(?P<word>[A-Za-z_]\w*|\.?\d(?:[eEpP][+\-]|[\w.'])*)"
    r"|(?P<sign>\+\+|--|->|<<|>>|&&|\|\||[-+*/%&|^=!<>]=|::|\S)",
    re.DOTALL,
)


def normalised_hash(candidate: Candidate) -> str:
    """Identity of a program as it would run: its tokens, knob values, language and entry point."""
    files: list[JsonValue] = [
        [file.path, normalised(candidate.language, file.content)] for file in candidate.sources
    ]
    return content_hash(
        {
            "language": candidate.language,
            "files": files,
            "knobs": dict(candidate.knobs),
            "entry": candidate.entry_point,
        }
    )


def duplicate_of(candidate: Candidate, known: Mapping[int, Candidate]) -> int | None:
    """Number of the first step that brought the same program; None if none did."""
    wanted = normalised_hash(candidate)
    return next((number for number in sorted(known) if normalised_hash(known[number]) == wanted), None)


@lru_cache(maxsize=512)
def normalised(language: Language, source: str) -> str:
    """The tokens of a source; its KNOBS literal counts by the candidate's knob values, not by its text."""
    if language in {Language.TRITON, Language.PYTORCH}:
        return _python(source)
    return _c(source)


def _python(source: str) -> str:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return " ".join(source.split())
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef):
            node.body = _without_docstring(node.body)
    tree.body = [statement for statement in tree.body if not _is_knobs(statement)]
    return ast.dump(tree)


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            return rest
    return body


def _is_knobs(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assign(targets=[ast.Name(id="KNOBS")]) | ast.AnnAssign(target=ast.Name(id="KNOBS")):
            return True
    return False


def _c(source: str) -> str:
    tokens: list[str] = []
    for found in _C_TOKEN.finditer(source.replace("\r\n", "\n")):
        if found.lastgroup == "directive":
            # A directive ends with its line, which therefore is a token.
            tokens += ["\n", *_directive(found[0]), "\n"]
        elif found["comment"] is None:
            tokens.append(found[0])
    return " ".join(tokens)


def _directive(line: str) -> list[str]:
    """Words of a preprocessor line, without a comment at its end."""
    return re.sub(r"//.*|/\*.*?\*/", " ", line.replace("\\\n", " ")).split()
