"""Facts of a C++ source, followed from `run` through every function it calls.

1. `cpp_syntax` parses the file and indexes functions, macros and file-scope variables.
2. `cpp_statements`, `cpp_expressions` and `cpp_calls` walk what `run` reaches; `cpp_state` holds where they are.
3. A function of the file that `run` calls and that runs a parallel loop or stores to a tensor is a kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.contract.facts import Gap, Kernel, Program, gaps
from search.contract.sources.cpp_calls import launches
from search.contract.sources.cpp_expressions import evaluate
from search.contract.sources.cpp_state import Dialect, Walk
from search.contract.sources.cpp_statements import declaration, visit
from search.contract.sources.cpp_syntax import Unit, declared, first_error, line, parse, text
from search.contract.sources.value import Value

if TYPE_CHECKING:
    import tree_sitter

    from search.records import Signature

_ENTRY_ARGUMENTS = ("entry:buffers", "entry:axes")


def read_cpp(source: str, entry_point: str, signature: Signature) -> Program:
    """What a C++ source does; places it does not understand are gaps."""
    return read_unit(parse(source), entry_point, signature)


def read_unit(unit: Unit, entry_point: str, signature: Signature, dialect: Dialect | None = None) -> Program:
    """What a parsed file does; `dialect` is what its language adds to C++."""
    error = first_error(unit.root)
    if error is not None:
        return Program(gaps=(Gap(f"does not parse at `{text(error)[:40]}`", line(error)),))
    entry = unit.functions.get(entry_point)
    if entry is None:
        return Program(gaps=(Gap(f"there is no function {entry_point}", 1),))
    walk = Walk(unit, signature, evaluate, visit, dialect=dialect)
    for node in unit.declarations:
        declaration(walk, node)
    walk.scopes.append({})
    _bind_arguments(walk, entry)
    body = entry.child_by_field_name("body")
    if body is not None:
        walk.visit(body)
    return _program(walk, entry, entry_point)


def _bind_arguments(walk: Walk, entry: tree_sitter.Node) -> None:
    declarator = entry.child_by_field_name("declarator")
    parameters = declarator.child_by_field_name("parameters") if declarator is not None else None
    names = [declared(node).name for node in (parameters.named_children if parameters is not None else [])]
    for name, place in zip(names, _ENTRY_ARGUMENTS, strict=False):
        walk.declare(name, Value(places=frozenset({place}), rank=2), "")


def _program(walk: Walk, entry: tree_sitter.Node, entry_point: str) -> Program:
    host = walk.nodes[0]
    kernels = list(walk.kernels)
    if walk.dialect is None and launches(host):
        kernels.append(Kernel(entry_point, line(entry), tuple(host)))
    found = list(gaps(host))
    found += [Gap(reason, line(node)) for reason, node in walk.unit.opaque]
    return Program(tuple(kernels), tuple(walk.buffers.values()), tuple(found))
