"""Whether a source has the entry point and the arguments that the ABI asks for, with the line where it has not.

Said here because it is cheap and names the line; only what is certain is refused. The adapter (Python) and the
launcher (C++) decide in the end.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from gpuworker.verdicts import RejectedError
from search.records import EvaluationStatus, Language

if TYPE_CHECKING:
    from search.records import Candidate
    from search.workload import Workload

_C_ARGUMENTS = 3
_C_FORM = "(void** buffers, const int64_t* axes, void* stream)"
_C_FUNCTION = re.compile(r"\b([A-Za-z_]\w*)\s*\([^()]*\)\s*\{")
_C_WORDS = {"if", "for", "while", "switch", "catch"}
_SHOWN = 5
_NAMERS = {"globals", "exec", "setattr", "vars", "__getattr__"}
"""Python that uses these may define anything under any name."""
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)


def check(candidate: Candidate, workload: Workload) -> None:
    """Look for the entry point.

    Raises:
        RejectedError: COMPILE_ERROR, it is not there or takes another number of arguments.
    """
    if candidate.language in {Language.CPP, Language.CUDA}:
        _check_c([file.content for file in candidate.sources], candidate.entry_point)
    else:
        _check_python(candidate.sources[0].content, candidate.entry_point, workload)


def _refused(message: str, line: int | None = None) -> RejectedError:
    place = f"line {line}: " if line else ""
    return RejectedError(EvaluationStatus.COMPILE_ERROR, f"{place}{message}")


def _missing(wanted: str, others: list[str]) -> RejectedError:
    return _refused(
        f"the source defines {', '.join(f'`{name}`' for name in others[:_SHOWN])}, not `{wanted}`"
    )


# Python -------------------------------------------------------------------------------------------


def _check_python(source: str, name: str, workload: Workload) -> None:
    tree = ast.parse(source)
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    if not found:
        others = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
        if others and not _may_bind(tree, name):
            raise _missing(name, others)
        return
    run = found[-1]
    arguments = run.args
    if run.decorator_list or arguments.vararg:
        return
    taken = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    inputs, outputs = list(workload.inputs), list(workload.outputs)
    if taken not in {len(inputs), len(inputs) + len(outputs)}:
        wanted = ", ".join([*inputs, *outputs])
        plural = "argument" if taken == 1 else "arguments"
        raise _refused(f"`{name}` takes {taken} {plural}, not {len(inputs + outputs)} ({wanted})", run.lineno)


def _may_bind(tree: ast.Module, name: str) -> bool:
    return any(_binds(node, name) for node in ast.walk(tree))


def _binds(node: ast.AST, name: str) -> bool:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return node.name in {name, "__getattr__"}
        case ast.alias():
            return node.name == "*" or name in {node.asname, node.name}
        case ast.Name(id=used, ctx=ast.Store()):
            return used == name
        case ast.Name(id=used) | ast.Attribute(attr=used):
            return used in _NAMERS
    return False


# C++ and CUDA -------------------------------------------------------------------------------------


def _check_c(sources: list[str], name: str) -> None:
    # Lines stay where they are.
    bare = [_COMMENT.sub(_blank, source) for source in sources]
    others = [word for source in bare for word in _C_FUNCTION.findall(source) if word not in _C_WORDS]
    if others and not any(re.search(rf"\b{re.escape(name)}\b|##", source) for source in sources):
        raise _missing(f'extern "C" int {name}{_C_FORM}', others)
    form = re.compile(rf"\bint\s+{re.escape(name)}\s*\(([^()]*)\)\s*(?:noexcept\s*)?\{{")
    found = [(source, match) for source in bare for match in form.finditer(source)]
    counts = [_arguments(match[1]) for _, match in found]
    if found and _C_ARGUMENTS not in counts:
        source, match = found[-1]
        line = source.count("\n", 0, match.start()) + 1
        plural = "argument" if counts[-1] == 1 else "arguments"
        raise _refused(f"`{name}` takes {counts[-1]} {plural}, not {_C_ARGUMENTS} {_C_FORM}", line)


def _blank(match: re.Match[str]) -> str:
    return "".join("\n" if character == "\n" else " " for character in match[0])


def _arguments(text: str) -> int:
    text = text.strip()
    return 0 if text in {"", "void"} else text.count(",") + 1
