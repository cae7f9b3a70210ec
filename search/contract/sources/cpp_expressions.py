"""Expressions in C++: what they depend on, what they read and write, and which values they fold."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from search.contract.facts import AXIS_KNOBS, Event, EventKind
from search.contract.sources.cpp_calls import call, cast
from search.contract.sources.cpp_syntax import (
    LOW_PRECISION,
    line,
    named,
    resolved,
    text,
    type_dtype,
    type_rank,
)
from search.contract.sources.value import (
    ALLOCATED,
    NONE,
    NOTHING,
    THREAD,
    Value,
    is_regrouping,
    join,
    quotient,
)

if TYPE_CHECKING:
    import tree_sitter

    from search.contract.sources.cpp_state import Variable, Walk

_LITERALS = {
    "string_literal", "char_literal", "true", "false", "null", "nullptr", "sizeof_expression", "this",
    "concatenated_string", "raw_string_literal", "alignof_expression", "type_descriptor",
}  # fmt: skip
_FOLDS = {"+": "sum", "-": "sum", "*": "rescale", "/": "rescale", "max": "max", "min": "min"}


def evaluate(walk: Walk, node: tree_sitter.Node) -> Value:
    """Value of an expression; events it causes are added to the walk."""
    if node.type in _LITERALS:
        return NOTHING
    if walk.dialect is not None and (special := walk.dialect.expression(walk, node)) is not None:
        return special
    reader = _READERS.get(node.type)
    if reader is None:
        return walk.gap(f"the expression `{text(node)[:60]}` is not understood", node)
    return reader(walk, node)


def _number(_: Walk, node: tree_sitter.Node) -> Value:
    word = text(node).lower()
    if word.startswith("0x") or not any(mark in word for mark in ".ef"):
        return Value(dtype="int")
    return Value(dtype="float32" if word.endswith("f") else "float64")


def _identifier(walk: Walk, node: tree_sitter.Node) -> Value:
    variable = walk.find(text(node))
    if variable is None and text(node) in walk.unit.functions:
        return walk.gap(f"the function {text(node)} is used as a value", node)
    if variable is not None and variable.alias:
        for place in sorted(variable.value.places):
            walk.event(EventKind.READ, place, node)
    return walk.name(node)


def _inner(walk: Walk, node: tree_sitter.Node) -> Value:
    values = [walk.evaluate(child) for child in named(node)]
    return values[0] if len(values) == 1 else join(values)


def _binary(walk: Walk, node: tree_sitter.Node) -> Value:
    left_node, right_node = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left_node is None or right_node is None:
        return walk.gap("an operator without operands", node)
    left, right = walk.evaluate(left_node), walk.evaluate(right_node)
    op = text(node.child_by_field_name("operator"))
    if op[:1] in {"<", ">"}:
        _cover(walk, left, right)
    if is_exponent_shift(op, right_node):
        walk.event(EventKind.EXP, "polynomial", node)
        return join([left, right])
    if op in {"/", "%"} and is_regrouping(left, right):
        walk.event(EventKind.REGROUP, "grouped", node)
    if op == "/" and text(right_node) != "1":
        return quotient(left, right, op)
    return join([left, right], op if op in {"+", "-", "*", "/"} else "")


def _cover(walk: Walk, left: Value, right: Value) -> None:
    """An index that is held against an axis runs over it; only where threads share a loop without a bound."""
    if walk.program is None:
        return
    for index, bound in ((left, right), (right, left)):
        if not bound.axes:
            continue
        for name in index.deps & frozenset(walk.loops):
            walk.covered[name] = walk.covered.get(name, NONE) | bound.axes
        if THREAD in index.marks:
            walk.covered[THREAD] = walk.covered.get(THREAD, NONE) | bound.axes


def is_exponent_shift(op: str, right: tree_sitter.Node) -> bool:
    """Shifting by 23 bits puts a whole number into the exponent of a float32."""
    return op == "<<" and text(right).strip("()uUlL") == "23"


def _unary(walk: Walk, node: tree_sitter.Node) -> Value:
    argument = node.child_by_field_name("argument")
    return replace(walk.evaluate(argument), op="") if argument is not None else NOTHING


def _pointer(walk: Walk, node: tree_sitter.Node) -> Value:
    argument = node.child_by_field_name("argument")
    if argument is None:
        return NOTHING
    if text(node.child_by_field_name("operator")) == "&":
        value = _address(walk, argument)
        return replace(value, rank=value.rank + 1)
    return _read(walk, walk.evaluate(argument), node)


def _address(walk: Walk, node: tree_sitter.Node) -> Value:
    """`&p[i]` points where `p` does and reads nothing."""
    if node.type == "subscript_expression":
        base, index = _subscript_parts(walk, node)
        return replace(base, rank=max(base.rank - 1, 0), deps=base.deps | index.deps)
    variable = walk.find(text(node))
    if variable is not None and not variable.alias:
        return replace(walk.name(node), places=frozenset({f"local:{variable.id}"}))
    return walk.evaluate(node)


def _subscript(walk: Walk, node: tree_sitter.Node) -> Value:
    base, index = _subscript_parts(walk, node)
    entry = _entry_point_argument(walk, base, node)
    if entry is not None:
        return entry
    value = _read(walk, base, node, index)
    return replace(value, deps=value.deps | index.deps)


def _subscript_parts(walk: Walk, node: tree_sitter.Node) -> tuple[Value, Value]:
    argument = node.child_by_field_name("argument")
    base = walk.evaluate(argument) if argument is not None else NOTHING
    return base, join([walk.evaluate(child) for child in named(node.child_by_field_name("indices"))])


def _entry_point_argument(walk: Walk, base: Value, node: tree_sitter.Node) -> Value | None:
    """`buffers[2]` is a tensor and `axes[1]` an axis of the signature; None for any other array."""
    if base.places == {"entry:axes"}:
        return _axis(walk, node)
    if base.places == {"entry:buffers"}:
        return _tensor(walk, node)
    return None


def _position(node: tree_sitter.Node) -> int | None:
    index = text(node.child_by_field_name("indices")).strip("[]() ")
    return int(index) if index.isdigit() else None


def _axis(walk: Walk, node: tree_sitter.Node) -> Value:
    position = _position(node)
    if position is None or position >= len(walk.signature.axes):
        return walk.gap(f"{text(node)} is not an axis of the workload", node)
    return Value(axes=frozenset({walk.signature.axes[position]}), dtype="int")


def _tensor(walk: Walk, node: tree_sitter.Node) -> Value:
    places = [f"input:{name}" for name in walk.signature.inputs]
    places += [f"output:{name}" for name in walk.signature.outputs]
    position = _position(node)
    if position is None or position >= len(places):
        return walk.gap(f"{text(node)} is not a tensor of the workload", node)
    return Value(places=frozenset({places[position]}), rank=1)


def _read(walk: Walk, base: Value, node: tree_sitter.Node, index: Value = NOTHING) -> Value:
    """One dereference; the last one reads the element."""
    if base.rank > 1:
        return replace(base, rank=base.rank - 1)
    if not base.places:
        walk.gap(f"a read through `{text(node)[:40]}`, whose target is unknown", node)
    picked = (base.deps | index.deps) & frozenset(walk.loops)
    # A thread that reads one element for itself reads it along the axes that its index is held against.
    alone = THREAD in index.marks | base.marks and not walk.loops
    span = walk.covered.get(THREAD, NONE) if alone else NONE
    for place in sorted(base.places):
        walk.emit(Event(EventKind.READ, place, line(node), index=picked, span=span))
    own = all(place.startswith("local:") for place in base.places)
    return replace(base, rank=0, places=NONE, op=base.op if own else "")


def _conditional(walk: Walk, node: tree_sitter.Node) -> Value:
    condition = node.child_by_field_name("condition")
    arms = [node.child_by_field_name("consequence"), node.child_by_field_name("alternative")]
    if condition is None:
        return walk.gap("a condition is missing", node)
    walk.evaluate(condition)
    return join([walk.evaluate(arm) for arm in arms if arm is not None], _picks(condition, arms))


def _picks(condition: tree_sitter.Node, arms: list[tree_sitter.Node | None]) -> str:
    """`a > b ? a : b` is `max`, `a > b ? b : a` is `min`, anything else is neither."""
    while condition.type in {"parenthesized_expression", "condition_clause"}:
        condition = named(condition)[0]
    left, right = (text(condition.child_by_field_name(side)) for side in ("left", "right"))
    op = text(condition.child_by_field_name("operator"))[:1]
    if op not in {"<", ">"} or {text(arm) for arm in arms} != {left, right}:
        return ""
    return "max" if (op == ">") == (text(arms[0]) == left) else "min"


# Assignments ---------------------------------------------------------------------------------------


def _assignment(walk: Walk, node: tree_sitter.Node) -> Value:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None:
        return walk.gap("an assignment without two sides", node)
    value = walk.evaluate(right)
    op = text(node.child_by_field_name("operator")).removesuffix("=")
    if op == "" and "=" not in text(node.child_by_field_name("operator")):
        op = _operator_between(left, right)
    if not op and (kind := _kept(walk, text(left), text(right))):
        value = join([value, walk.evaluate(left)], kind)
    if is_exponent_shift(op, right):
        walk.event(EventKind.EXP, "polynomial", node)
    assign(walk, left, value, op, node)
    return value


def _kept(walk: Walk, left: str, right: str) -> str:
    """`m = v` inside `if (v > m)` keeps the larger of two: `max`; `min` the other way round."""
    for one, op, other in walk.compared:
        if op in {"<", ">"} and {one, other} == {left, right}:
            return "max" if (op == ">") == (other == left) else "min"
    return ""


def _operator_between(left: tree_sitter.Node, right: tree_sitter.Node) -> str:
    """The grammar leaves compound operators of some assignments without a field."""
    sibling = left.next_sibling
    while sibling is not None and sibling != right:
        if sibling.type.endswith("="):
            return sibling.type.removesuffix("=")
        sibling = sibling.next_sibling
    return ""


def assign(walk: Walk, left: tree_sitter.Node, value: Value, op: str, node: tree_sitter.Node) -> None:
    """Store a value; `op` is the operator of a compound assignment."""
    while left.type == "parenthesized_expression":
        left = named(left)[0]
    if left.type == "identifier":
        _assign_name(walk, left, value, op, node)
    elif left.type in {"subscript_expression", "pointer_expression"}:
        _assign_element(walk, left, value, op, node)
    else:
        walk.gap(f"a store to `{text(left)[:40]}` is not understood", node)


def _assign_name(walk: Walk, left: tree_sitter.Node, value: Value, op: str, node: tree_sitter.Node) -> None:
    variable = walk.find(text(left))
    if variable is None:
        walk.gap(f"a store to {text(left)}, which is not declared here", node)
        return
    if variable.alias:
        _store(walk, variable.value, NOTHING, value, op, node)
        return
    variable.ended = ""
    value = _kept_as(variable.dtype, value)
    if walk.host and ALLOCATED in value.marks:
        value = walk.allocated(text(left), value, node)
    _fold(walk, variable, NOTHING, value, op, node)
    pointer = variable.value.rank > 0
    held = join([variable.value, value], value.op)
    variable.value = replace(held, rank=variable.value.rank if pointer else value.rank)


def _assign_element(
    walk: Walk, left: tree_sitter.Node, value: Value, op: str, node: tree_sitter.Node
) -> None:
    if left.type == "subscript_expression":
        base, index = _subscript_parts(walk, left)
    else:
        argument = left.child_by_field_name("argument")
        base, index = (walk.evaluate(argument) if argument is not None else NOTHING), NOTHING
    index = _all_indices(walk, left, index)
    if base.rank > 1:
        _keep_pointer(walk, base, value)
        return
    _store(walk, base, index, value, op, node)


def _all_indices(walk: Walk, left: tree_sitter.Node, index: Value) -> Value:
    """Indices of `a[i][j]` together; those of pointers are followed without reading."""
    inner = left.child_by_field_name("argument")
    while inner is not None and inner.type == "subscript_expression":
        index = join(
            [index, *(walk.evaluate(child) for child in named(inner.child_by_field_name("indices")))]
        )
        inner = inner.child_by_field_name("argument")
    return index if inner is None else join([index, _pointer_offset(walk, inner)])


def _pointer_offset(walk: Walk, node: tree_sitter.Node) -> Value:
    """What a pointer was moved by, e.g. `m` for `float* out = y + m * N`; an array of its own was not moved."""
    variable = walk.find(text(node)) if node.type == "identifier" else None
    if variable is None or f"local:{variable.id}" in variable.value.places:
        return NOTHING
    return walk.name(node)


def _keep_pointer(walk: Walk, base: Value, value: Value) -> None:
    """A pointer that is stored through another, or in an array of pointers, brings its places along."""
    pointed = [walk.local(place) for place in base.places]
    arrays = [variable for name in base.deps if (variable := walk.by_id(name)) and variable.value.rank > 1]
    for variable in (*pointed, *arrays):
        if variable is not None:
            variable.value = replace(
                join([variable.value, value], ""),
                rank=variable.value.rank,
                places=(variable.value.places | value.places) - {f"local:{variable.id}"},
            )


def _store(walk: Walk, base: Value, index: Value, value: Value, op: str, node: tree_sitter.Node) -> None:
    if not base.places:
        walk.gap(f"a store through `{text(node)[:40]}`, whose target is unknown", node)
    for place in sorted(base.places):
        target = walk.local(place)
        if op and target is None:
            walk.event(EventKind.READ, place, node)
        walk.event(EventKind.WRITE, place, node)
        narrow = place.startswith("output:") and value.lowered == [base.dtype]
        if target is None and not narrow:
            _lowered(walk, value, node)
        if target is not None:
            value = _kept_as(target.dtype, value)
            _fold(walk, target, index, value, op, node)
            target.value = replace(
                target.value,
                op=op or value.op,
                deps=target.value.deps | value.deps,
                marks=target.value.marks | (value.marks - {ALLOCATED}),
            )
        elif op or place in value.deps or base.deps & value.deps & walk.pointers(place):
            event = _fold_event(walk, value, op or value.op, place, node, index)
            walk.emit(replace(event, dtype=base.dtype))


def _fold(
    walk: Walk, variable: Variable, index: Value, value: Value, op: str, node: tree_sitter.Node
) -> None:
    """Add a fold where a floating-point variable is updated from itself inside a loop."""
    if variable.dtype == "int" or not walk.loops or variable.level >= len(walk.loops):
        return
    if not op and variable.id not in value.deps:
        return
    _lowered(walk, replace(value, marks=value.marks | variable.value.marks), node)
    event = _fold_event(walk, value, op or value.op, variable.id, node, index)
    event = replace(event, level=variable.level, dtype=variable.dtype, vector=variable.vector)
    walk.emit(event)
    if not op and event.what == "sum" and variable.id in value.scaled:
        walk.emit(replace(event, what="rescale"))


def _kept_as(dtype: str, value: Value) -> Value:
    """A value in a variable of a type; a lower precision rounds it."""
    low = dtype in LOW_PRECISION and not value.rank and value.dtype != ""
    return value.rounded(dtype) if low else value


def _lowered(walk: Walk, value: Value, node: tree_sitter.Node) -> None:
    """Note that a value that counts was rounded to a lower precision."""
    for dtype in value.lowered:
        walk.event(EventKind.CAST, dtype, node)


def _fold_event(
    walk: Walk, value: Value, op: str, target: str, node: tree_sitter.Node, index: Value
) -> Event:
    return Event(
        EventKind.FOLD,
        _FOLDS.get(op, "other"),
        line(node),
        target=target,
        index=index.deps & frozenset(walk.loops),
        sources=value.deps & walk.arrays(),
        uses=value.deps - {target},
    )


def _update(walk: Walk, node: tree_sitter.Node) -> Value:
    """`++n`: counts, never folds."""
    argument = node.child_by_field_name("argument")
    return walk.evaluate(argument) if argument is not None else NOTHING


def _new(walk: Walk, node: tree_sitter.Node) -> Value:
    sizes = [walk.evaluate(child) for child in node.named_children if child.type == "new_declarator"]
    return replace(join(sizes), rank=1, marks=frozenset({ALLOCATED}))


def _new_size(walk: Walk, node: tree_sitter.Node) -> Value:
    return join([walk.evaluate(child) for child in named(node)])


def _cast_expression(walk: Walk, node: tree_sitter.Node) -> Value:
    value = node.child_by_field_name("value")
    type_text = resolved(walk.unit, text(node.child_by_field_name("type")))
    return cast(walk, type_text, walk.evaluate(value) if value is not None else NOTHING, node)


def _qualified(_: Walk, node: tree_sitter.Node) -> Value:
    """A constant of a namespace; `SPLITS` cannot hide in one."""
    name = text(node).rsplit("::", 1)[-1]
    return Value(axes=AXIS_KNOBS & {name})


def _lambda(walk: Walk, node: tree_sitter.Node) -> Value:
    return walk.gap("a lambda that is not stored in a variable", node)


def _field(walk: Walk, node: tree_sitter.Node) -> Value:
    if walk.dialect is not None and (special := walk.dialect.part(walk, node)) is not None:
        return special
    argument = node.child_by_field_name("argument")
    return walk.evaluate(argument) if argument is not None else NOTHING


def _compound_literal(walk: Walk, node: tree_sitter.Node) -> Value:
    type_text = text(node.child_by_field_name("type"))
    value = node.child_by_field_name("value")
    inner = walk.evaluate(value) if value is not None else NOTHING
    return replace(inner, rank=type_rank(type_text), dtype=type_dtype(type_text))


_READERS = {
    "identifier": _identifier,
    "field_identifier": _identifier,
    "qualified_identifier": _qualified,
    "number_literal": _number,
    "parenthesized_expression": _inner,
    "comma_expression": _inner,
    "initializer_list": _inner,
    "argument_list": _inner,
    "condition_clause": _inner,
    "binary_expression": _binary,
    "unary_expression": _unary,
    "pointer_expression": _pointer,
    "subscript_expression": _subscript,
    "conditional_expression": _conditional,
    "assignment_expression": _assignment,
    "update_expression": _update,
    "call_expression": call,
    "cast_expression": _cast_expression,
    "new_expression": _new,
    "new_declarator": _new_size,
    "lambda_expression": _lambda,
    "field_expression": _field,
    "compound_literal_expression": _compound_literal,
}
