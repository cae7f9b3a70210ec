"""Calls in C++: what library functions do, and following functions of the file."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from search.contract.facts import Event, EventKind, Kernel, Loop, Node, Role
from search.contract.facts import walk as tree
from search.contract.sources.cpp_syntax import (
    LOW_PRECISION,
    declared,
    line,
    named,
    resolved,
    text,
    type_dtype,
    type_rank,
)
from search.contract.sources.value import ALLOCATED, NOTHING, WORKER, WORKERS, Value, join

if TYPE_CHECKING:
    import tree_sitter

    from search.contract.sources.cpp_state import Variable, Walk

_DEEPEST = 12
_EXPONENTIALS = {
    "exp",
    "expf",
    "exp2",
    "exp2f",
    "expm1",
    "expm1f",
    "tanh",
    "tanhf",
    "erf",
    "erff",
    "pow",
    "powf",
}
_PLAIN = {
    "sqrt", "sqrtf", "rsqrt", "fabs", "fabsf", "abs", "floor", "floorf", "ceil", "round", "roundf", "lrint",
    "lrintf", "nearbyint", "nearbyintf", "rint", "rintf", "log", "logf", "log2", "isnan", "isinf", "isfinite",
    "sizeof", "size", "get", "begin", "end", "lowest", "infinity", "max_align", "move", "forward", "bit_cast",
    "numeric_limits", "__builtin_expect", "__builtin_assume_aligned", "assume_aligned", "signbit", "copysign",
    "to_address", "omp_set_num_threads", "omp_in_parallel", "front", "quiet_NaN", "epsilon", "empty",
}  # fmt: skip
_NO_EFFECT = {
    "__builtin_prefetch",
    "_mm_prefetch",
    "_mm_sfence",
    "_mm_mfence",
    "free",
    "assert",
    "static_assert",
}
_OPERATIONS = {
    "max": "max", "fmax": "max", "fmaxf": "max", "min": "min", "fmin": "min", "fminf": "min",
    "fma": "fma", "fmaf": "fma", "__builtin_fmaf": "fma", "clamp": "max",
}  # fmt: skip
_SCALES = {"ldexp", "ldexpf", "scalbn", "scalbnf", "scalbln"}
_ALLOCATES = {"malloc", "calloc", "aligned_alloc", "_mm_malloc", "make_unique", "realloc", "alloca"}
_WORKERS = {"omp_get_num_threads", "omp_get_max_threads", "omp_get_num_procs"}
_RESIZES = {"resize", "assign", "reserve"}
_CASTS = {"static_cast", "reinterpret_cast", "const_cast"}
_COPIES = {"memcpy", "memmove", "copy", "copy_n", "fill", "fill_n", "memset"}
_SIZE_AT = {"copy_n": 1, "fill_n": 1}
_SCANS = {"max_element": "max", "min_element": "min", "accumulate": "sum", "reduce": "sum"}
_INTRINSIC = re.compile(r"_mm\d*_(\w+)")


def call(walk: Walk, node: tree_sitter.Node) -> Value:
    """Value of a call, with the events it causes."""
    function = node.child_by_field_name("function")
    arguments = named(node.child_by_field_name("arguments"))
    if function is None:
        return walk.gap("a call without a function", node)
    name = _plain_name(function)
    if walk.dialect is not None and (special := walk.dialect.call(walk, node, name)) is not None:
        return special
    if function.type == "field_expression":
        return _method(walk, function, arguments)
    if function.type == "template_function" and name in _CASTS:
        return _cast(walk, text(named(function)[-1]), arguments, node)
    variable = walk.find(name)
    if variable and variable.body is not None:
        return walk_lambda(walk, name, variable.body, arguments, node)
    if name in walk.unit.functions and "::" not in text(function):
        return walk_function(walk, name, arguments, node)
    values = [walk.evaluate(argument) for argument in arguments]
    return _library(walk, name, text(function), values, node)


def cast(walk: Walk, type_text: str, value: Value, node: tree_sitter.Node) -> Value:
    """A value seen as another type."""
    dtype = type_dtype(type_text)
    rank = type_rank(type_text) if "auto" not in type_text else value.rank
    if dtype in LOW_PRECISION and not rank:
        value = value.rounded(dtype)
    return replace(value, dtype=dtype or value.dtype, rank=rank)


def walk_function(walk: Walk, name: str, arguments: list[tree_sitter.Node], node: tree_sitter.Node) -> Value:
    """Follow a function of the file as if it stood here; in the entry point it may be a launch."""
    launching = walk.host
    nodes, result = follow(walk, name, arguments, node)
    if launching and launches(nodes):
        walk.launch(name, tuple(nodes), node)
    else:
        walk.nodes[-1].extend(nodes)
    return result


def follow(
    walk: Walk, name: str, arguments: list[tree_sitter.Node], node: tree_sitter.Node
) -> tuple[list[Node], Value]:
    """What a function of the file does with these arguments, and what it returns."""
    if name in walk.calls or len(walk.calls) >= _DEEPEST:
        return [], walk.gap(f"{name} calls itself or nests too deep", node)
    function = walk.unit.functions[name]
    values = [walk.evaluate(argument) for argument in arguments]
    held = [walk.find(text(argument)) for argument in arguments]
    outside = walk.scopes
    walk.calls.append(name)
    walk.returns.append([])
    # A function sees file scope, not its caller's variables; places still name the caller's arrays.
    with walk.block() as nodes:
        walk.scopes = [outside[0], walk.scopes[-1]]
        walk.hidden.append(outside)
        _bind(walk, function, values, held)
        body = function.child_by_field_name("body")
        if body is not None:
            walk.visit(body)
        walk.hidden.pop()
    walk.calls.pop()
    result, given = (
        _returned(walk),
        type_dtype(resolved(walk.unit, text(function.child_by_field_name("type")))),
    )
    rounds = given in LOW_PRECISION and not result.rank and result.dtype
    return nodes, result.rounded(given) if rounds else result


def walk_lambda(
    walk: Walk, name: str, body: tree_sitter.Node, arguments: list[tree_sitter.Node], node: tree_sitter.Node
) -> Value:
    """Follow a lambda as if it stood here; it sees the variables around it."""
    if name in walk.calls or len(walk.calls) >= _DEEPEST:
        return walk.gap(f"{name} calls itself or nests too deep", node)
    values = [walk.evaluate(argument) for argument in arguments]
    held = [walk.find(text(argument)) for argument in arguments]
    walk.calls.append(name)
    walk.returns.append([])
    with walk.block() as nodes:
        _bind(walk, body, values, held)
        inner = body.child_by_field_name("body")
        if inner is not None:
            walk.visit(inner)
    walk.calls.pop()
    walk.nodes[-1].extend(nodes)
    return _returned(walk)


def launches(nodes: list[Node]) -> bool:
    """Whether a function called by the entry point does work of its own: a parallel loop or a store to a tensor."""
    for found in tree(tuple(nodes)):
        match found:
            case Loop(role=role) if role is not Role.SEQUENTIAL:
                return True
            case Event(kind=EventKind.WRITE, what=place) if not place.startswith("local:"):
                return True
    return False


def _returned(walk: Walk) -> Value:
    """What the function just left returned."""
    values = walk.returns.pop()
    return replace(join(values), op=values[0].op) if values else NOTHING


def _bind(walk: Walk, function: tree_sitter.Node, values: list[Value], held: list[Variable | None]) -> None:
    declarator = function.child_by_field_name("declarator")
    while declarator is not None and declarator.child_by_field_name("parameters") is None:
        declarator = declarator.child_by_field_name("declarator")
    parameters = named(declarator.child_by_field_name("parameters")) if declarator is not None else []
    for position, parameter in enumerate(parameters):
        found = declared(parameter)
        variable = held[position] if position < len(held) else None
        if found.reference and variable is not None:
            walk.scopes[-1][found.name] = variable
            continue
        type_text = resolved(walk.unit, text(parameter.child_by_field_name("type")))
        value = values[position] if position < len(values) else NOTHING
        dtype = type_dtype(type_text) or value.dtype
        if dtype in LOW_PRECISION and not found.rank and value.dtype:
            value = value.rounded(dtype)
        walk.declare(
            found.name, replace(value, dtype=dtype), dtype, alias=found.reference and bool(value.places)
        )


# Methods and library functions ---------------------------------------------------------------------


def _method(walk: Walk, function: tree_sitter.Node, arguments: list[tree_sitter.Node]) -> Value:
    holder = function.child_by_field_name("argument")
    method = text(function.child_by_field_name("field"))
    values = [walk.evaluate(argument) for argument in arguments]
    if holder is None:
        return walk.gap("a method without an object", function)
    if method in _RESIZES:
        return _resize(walk, holder, values, function)
    value = walk.evaluate(holder)
    if method in {"data", "get", "begin", "end"}:
        return value
    if method in {"size", "empty", "capacity", "clear"}:
        return Value(axes=value.axes)
    return walk.gap(f"the method {method} is not known", function)


def _resize(walk: Walk, holder: tree_sitter.Node, values: list[Value], node: tree_sitter.Node) -> Value:
    variable = walk.find(text(holder))
    if variable is None:
        return walk.gap(f"{text(holder)} is resized but not declared", node)
    size = values[0] if values else NOTHING
    variable.value = replace(variable.value, axes=variable.value.axes | size.axes)
    for place in variable.value.places:
        walk.measure(place, size.axes)
    return NOTHING


def _library(walk: Walk, name: str, full: str, values: list[Value], node: tree_sitter.Node) -> Value:
    if name in _EXPONENTIALS:
        walk.event(EventKind.EXP, "libm", node)
        return replace(join(values), op="")
    if name in _SCALES:
        walk.event(EventKind.EXP, "polynomial", node)
        return replace(join(values), op="")
    if name in _WORKERS:
        return Value(marks=frozenset({WORKERS}))
    if name == "omp_get_thread_num":
        return Value(marks=frozenset({WORKER}))
    if name in _ALLOCATES:
        return replace(join(values), rank=1, marks=frozenset({ALLOCATED}))
    if name in _SCANS:
        return _scan(walk, _SCANS[name], values, node)
    if name in _COPIES:
        return _copy(walk, name, values, node)
    return _arithmetic(walk, name, full, values, node)


def _arithmetic(walk: Walk, name: str, full: str, values: list[Value], node: tree_sitter.Node) -> Value:
    if name in _NO_EFFECT:
        return NOTHING
    if name in _OPERATIONS:
        return _operation(_OPERATIONS[name], values)
    if name in _PLAIN:
        return replace(join(values), op="")
    if found := _INTRINSIC.fullmatch(name):
        return _intrinsic(walk, found[1], values, node)
    if name == full and type_dtype(resolved(walk.unit, name)) and len(values) == 1:
        return cast(walk, resolved(walk.unit, name), values[0], node)  # int64_t(row)
    if name.startswith("cblas_"):
        walk.kernels.append(Kernel(name, line(node), (), library=True))
        return NOTHING
    return walk.gap(f"the function {full} is not known", node)


def _operation(op: str, values: list[Value]) -> Value:
    """`fma` is a sum whose first two operands are scaled."""
    if op != "fma":
        return join(values, op)
    product, added = join(values[:2], "*"), join(values[2:])
    return join([product, added], "+")


def _copy(walk: Walk, name: str, values: list[Value], node: tree_sitter.Node) -> Value:
    """`memcpy(to, from, size)`, `copy(first, last, to)`, `fill(first, last, value)` as one loop."""
    if len(values) < 3:
        return walk.gap(f"{name} with other than three arguments", node)
    size = {"copy": join(values[:2]), "fill": join(values[:2])}.get(name, values[_SIZE_AT.get(name, 2)])
    target = values[-1] if name in {"copy", "copy_n"} else values[0]
    sources = [value for value in values if value is not target and name not in {"fill", "fill_n", "memset"}]
    with walk.block() as nodes:
        for place in sorted(join(sources).places):
            walk.event(EventKind.READ, place, node)
        for place in sorted(target.places):
            walk.event(EventKind.WRITE, place, node)
    if size.axes:
        walk.emit(Loop(size.axes, line(node), len(walk.loops), f"copy@{line(node)}", tuple(nodes)))
    else:
        walk.nodes[-1].extend(nodes)
    _flow(walk, target, sources)
    return NOTHING


def _flow(walk: Walk, target: Value, sources: list[Value]) -> None:
    """A copy between `&one` and `&other` copies a value, even a pointer; between arrays it copies elements."""
    for variable in filter(None, map(walk.local, sorted(target.places))):
        for source in sources:
            held = [v for place in source.places if (v := walk.local(place)) and source.rank > v.value.rank]
            given = join(v.value for v in held) if held else Value(deps=source.deps)
            joined = join([variable.value, given], variable.value.op)
            variable.value = replace(joined, rank=variable.value.rank)


def _scan(walk: Walk, kind: str, values: list[Value], node: tree_sitter.Node) -> Value:
    """`max_element(first, last)`, `accumulate(first, last, start)` as one loop that folds."""
    span = join(values[:2])
    dtype = values[2].dtype if len(values) > 2 else span.dtype
    depth = len(walk.loops)
    with walk.block() as nodes:
        for place in sorted(span.places):
            walk.event(EventKind.READ, place, node)
        walk.emit(Event(EventKind.FOLD, kind, line(node), target=kind, level=depth, dtype=dtype))
    walk.emit(Loop(span.axes, line(node), depth, f"scan@{line(node)}", tuple(nodes)))
    return replace(span, dtype=dtype)


def _intrinsic(walk: Walk, operation: str, values: list[Value], node: tree_sitter.Node) -> Value:
    if "store" in operation or "stream_p" in operation or operation.startswith("stream"):
        for place in sorted(values[0].places if values else ()):
            walk.event(EventKind.WRITE, place, node)
        return NOTHING
    if "load" in operation:
        for place in sorted(values[0].places if values else ()):
            walk.event(EventKind.READ, place, node)
        return replace(join(values), places=frozenset(), rank=0, op="")
    if "fm" in operation:
        return _operation("fma", values)
    if operation.startswith("slli") and text(node).rstrip(") ").endswith("23"):
        walk.event(EventKind.EXP, "polynomial", node)
        return replace(join(values), op="")
    op = next((word for word in ("max", "min") if word in operation), "")
    op = op or {"add": "+", "sub": "+", "mul": "*"}.get(operation.split("_")[0], "")
    return join(values, op)


def _plain_name(function: tree_sitter.Node) -> str:
    """`std::min<int64_t>` is `min`."""
    if function.type == "qualified_identifier":
        return _plain_name(function.child_by_field_name("name") or function.children[-1])
    if function.type == "field_expression":
        return text(function.child_by_field_name("field"))
    if function.type in {"template_function", "template_method"}:
        return text(function.child_by_field_name("name"))
    return text(function)


def _cast(walk: Walk, type_text: str, arguments: list[tree_sitter.Node], node: tree_sitter.Node) -> Value:
    value = walk.evaluate(arguments[0]) if len(arguments) == 1 else NOTHING
    return cast(walk, resolved(walk.unit, type_text.strip("<>")), value, node)
