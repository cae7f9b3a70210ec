"""Facts of a CUDA C++ source: the C++ reader with what CUDA adds to the language.

1. The grammar is `tree-sitter-cuda`, an extension of the C++ one.
2. `cuda_calls` knows launches, the runtime, device functions and inline assembly.
3. Here: program and thread numbers, sizes of grids, shared memory, cooperative groups.

A kernel is followed once, as one program: a loop in which threads share the indices is one walk over the axis.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from tree_sitter import Language

from search.contract.sources.cpp import read_unit
from search.contract.sources.cpp_state import Dialect
from search.contract.sources.cpp_statements import parameter_size
from search.contract.sources.cpp_syntax import declared, named, parse, text
from search.contract.sources.cuda_calls import call, expression
from search.contract.sources.value import NOTHING, THREAD, WORKER, WORKERS, Value

if TYPE_CHECKING:
    import tree_sitter

    from search.contract.facts import Program
    from search.contract.sources.cpp_state import Walk
    from search.records import Signature

_ALIGNMENT = re.compile(r"__align__\s*\(\s*\w+\s*\)")
"""The grammar stumbles over it in front of a variable."""
_DIMENSIONS = {"x": 0, "y": 1, "z": 2}
_GROUPS = {
    "this_grid": "grid",
    "this_cluster": "cluster",
    "this_thread_block": "block",
    "tiled_partition": "block",
    "coalesced_threads": "block",
}


def read_cuda(source: str, entry_point: str, signature: Signature) -> Program:
    """What a CUDA source does; places it does not understand are gaps."""
    plain = _ALIGNMENT.sub(lambda found: " " * len(found[0]), source)
    return read_unit(parse(plain, _grammar()), entry_point, signature, _DIALECT)


@lru_cache(maxsize=1)
def _grammar() -> Language:
    """Loaded when the first CUDA source is read, so that hosts without such sources need no grammar."""
    import tree_sitter_cuda

    return Language(tree_sitter_cuda.language())


def _part(walk: Walk, node: tree_sitter.Node) -> Value | None:
    """`blockIdx.x` and its relatives; `properties.multiProcessorCount`."""
    holder, part = text(node.child_by_field_name("argument")), text(node.child_by_field_name("field"))
    if part == "multiProcessorCount":
        return Value(marks=frozenset({WORKERS}), dtype="int")
    if walk.program is None or part not in _DIMENSIONS:
        return None
    fixed = walk.program.fixed
    match holder:
        case "blockIdx":
            walk.program.used.add(_DIMENSIONS[part])
            return Value(marks=frozenset({WORKER} if fixed else ()), dtype="int")
        case "gridDim":
            return Value(marks=frozenset({WORKERS} if fixed else ()), dtype="int")
        case "threadIdx" | "blockDim":
            return Value(marks=frozenset({THREAD}), dtype="int")
    return None


def _declares(walk: Walk, node: tree_sitter.Node) -> bool:
    """`dim3 grid(M, 2)` and cooperative groups."""
    type_text = text(node.child_by_field_name("type"))
    declarators = node.children_by_field_name("declarator")
    if type_text == "dim3":
        for declarator in declarators:
            _declare_grid(walk, declarator)
        return True
    for declarator in declarators:
        value = text(declarator.child_by_field_name("value"))
        scope = next((scope for name, scope in _GROUPS.items() if name in value), "")
        if scope:
            name = declared(declarator).name
            walk.declare(name, NOTHING, "int")
            walk.scopes_of_groups[name] = scope
            return True
    return False


def _declare_grid(walk: Walk, declarator: tree_sitter.Node) -> None:
    value = declarator.child_by_field_name("value")
    name = (
        declared(declarator).name if value is not None else text(declarator.child_by_field_name("declarator"))
    )
    if value is None:  # `dim3 grid(M, SPLITS)` reads like a function with two types
        words = [text(one) for one in named(declarator.child_by_field_name("parameters"))]
        sizes = [parameter_size(walk, one) or NOTHING for one in words]
    elif value.type == "call_expression":
        sizes = [walk.evaluate(one) for one in named(value.child_by_field_name("arguments"))]
    else:
        inner = named(value) if value.type in {"argument_list", "initializer_list"} else [value]
        sizes = [walk.evaluate(one) for one in inner]
    walk.declare(name, NOTHING, "int")
    walk.grids[name] = tuple(sizes)


_DIALECT = Dialect(call=call, part=_part, declares=_declares, expression=expression)
