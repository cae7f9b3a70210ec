"""Following a jitted function: statements, loops and stores; calls are in `triton_calls`."""

from __future__ import annotations

import ast
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from search.contract.facts import Branch, Event, EventKind, Gap, Loop, Node, Role, touches_memory
from search.contract.sources.triton_syntax import Module, device_function, dtype_name
from search.contract.sources.value import (
    BLOCKED,
    NOTHING,
    WORKER,
    WORKERS,
    Effort,
    Value,
    is_regrouping,
    join,
    quotient,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_FOLDS = {"+": "sum", "-": "sum", "*": "rescale", "/": "rescale", "max": "max", "min": "min"}
_OPERATORS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_RANGES = {"range", "static_range"}
_ROLES = {"async_task", "async_tasks", "warp_specialize"}


@dataclass
class Variable:
    """A name of a jitted function."""

    id: str
    value: Value
    level: int
    """Loops that were open where it was first assigned."""


@dataclass
class Device:
    """State of a walk through one launch."""

    module: Module
    fixed: bool
    """The grid has a fixed number of programs."""
    caller: Callable[[Device, ast.Call], Value]
    constant: Callable[[ast.expr], Value]
    """Value of a module-level expression."""
    names: dict[str, Variable] = field(default_factory=dict)
    nodes: list[list[Node]] = field(default_factory=lambda: [[]])
    loops: list[str] = field(default_factory=list)
    returns: list[Value] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    programs: set[int] = field(default_factory=set)
    """Grid dimensions whose program number is used."""
    shared: int = 0
    serial: int = 0
    effort: Effort = field(default_factory=Effort)

    def emit(self, node: Node) -> None:
        """Add a node to the open block."""
        self.nodes[-1].append(node)

    def gap(self, reason: str, node: ast.AST) -> Value:
        """Note that something is not understood."""
        self.emit(Gap(reason, getattr(node, "lineno", 1)))
        return NOTHING

    def touch(self, kind: EventKind, pointer: Value, node: ast.AST) -> None:
        """A read or write through a pointer."""
        line = getattr(node, "lineno", 1)
        if not pointer.places:
            self.gap("a load or store through something that is no tensor argument", node)
        for place in sorted(pointer.places):
            self.emit(Event(kind, place, line, span=pointer.span))

    @contextmanager
    def block(self) -> Iterator[list[Node]]:
        """Collect the nodes of an inner block."""
        collected: list[Node] = []
        self.nodes.append(collected)
        try:
            yield collected
        finally:
            self.nodes.pop()

    def assign(self, name: str, value: Value) -> None:
        """First assignment declares; a later one joins, because nothing here knows which path was taken."""
        held = self.names.get(name)
        if held is None:
            self.serial += 1
            self.names[name] = Variable(f"{name}#{self.serial}", value, len(self.loops))
            return
        if held.level < len(self.loops):
            joined = join([held.value, value], value.op)
            held.value = replace(joined, dtype=held.value.dtype or value.dtype)
        else:
            held.value = replace(value, deps=value.deps | held.value.deps)


def run_body(device: Device, body: list[ast.stmt]) -> None:
    """Follow statements; what stands after a `return` is never run."""
    for statement in body:
        _statement(device, statement)
        if isinstance(statement, ast.Return):
            return


def _statement(device: Device, node: ast.stmt) -> None:
    match node:
        case ast.Assign(targets=[target], value=value):
            _assign(device, target, value, node)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            _assign(device, target, value, node)
        case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
            _store(device, name, evaluate(device, value), _OPERATORS.get(type(op), ""), node)
        case ast.For():
            _for(device, node)
        case ast.While():
            _while(device, node)
        case ast.If(test=test, body=body, orelse=orelse):
            evaluate(device, test)
            _branch(device, node, [body, orelse])
        case ast.Return(value=ast.expr() as value):
            device.returns.append(evaluate(device, value))
        case _:
            _plain_statement(device, node)


def _plain_statement(device: Device, node: ast.stmt) -> None:
    match node:
        case ast.Expr(value=value):
            evaluate(device, value)
        case ast.Pass() | ast.Return() | ast.Assert():
            return
        case ast.With(items=[ast.withitem(context_expr=ast.Call(func=function))], body=body) if (
            device_function(device.module, function) in _ROLES
        ):
            device.emit(Event(EventKind.ROLES, device_function(device.module, function), node.lineno))
            run_body(device, body)
        case _:
            device.gap(f"the statement {type(node).__name__} is not understood", node)


def _assign(device: Device, target: ast.expr, value: ast.expr, node: ast.stmt) -> None:
    match target, value:
        case ast.Name(id=name), _:
            _store(device, name, evaluate(device, value), "", node)
        case ast.Tuple(elts=names), ast.Tuple(elts=values) if len(names) == len(values):
            for inner, part in zip(names, values, strict=True):
                _assign(device, inner, part, node)
        case ast.Tuple(elts=names), _:
            whole = evaluate(device, value)
            for inner in names:
                if isinstance(inner, ast.Name):
                    _store(device, inner.id, whole, "", node)
        case _:
            device.gap("an assignment to something that is no name", node)


def _store(device: Device, name: str, value: Value, op: str, node: ast.stmt) -> None:
    held = device.names.get(name)
    if held is not None and held.level < len(device.loops) and (op or held.id in value.deps):
        _fold(device, held, value, op, node)
    if op and held is not None:
        value = join([held.value, value], op)
        value = replace(value, dtype=held.value.dtype or value.dtype)
    device.assign(name, value)


def lowered(device: Device, value: Value, node: ast.AST) -> None:
    """Note that a value that counts was rounded to a lower precision."""
    for dtype in value.lowered:
        device.emit(Event(EventKind.CAST, dtype, getattr(node, "lineno", 1)))


def _fold(device: Device, held: Variable, value: Value, op: str, node: ast.stmt) -> None:
    """A name that is updated from itself inside a loop; pointers and counters are none."""
    if held.value.places or held.value.dtype == "int":
        return
    lowered(device, value, node)
    event = Event(
        EventKind.FOLD,
        _FOLDS.get(op or value.op, "other"),
        node.lineno,
        target=held.id,
        level=held.level,
        dtype=held.value.dtype or value.dtype,
        uses=value.deps - {held.id},
    )
    device.emit(event)
    if not op and event.what == "sum" and held.id in value.scaled:
        device.emit(replace(event, what="rescale"))


# Loops and branches --------------------------------------------------------------------------------


def _for(device: Device, node: ast.For) -> None:
    call = node.iter
    if not isinstance(call, ast.Call) or not isinstance(node.target, ast.Name):
        device.gap("a loop that is no range", node)
        return
    ranged = device_function(device.module, call.func) or device.module.dotted(call.func)
    if ranged not in _RANGES:
        device.gap("a loop that is no range", node)
        return
    bounds = [evaluate(device, argument) for argument in call.args]
    _roles(device, call)
    device.names.pop(node.target.id, None)
    device.assign(node.target.id, replace(NOTHING, marks=join(bounds).marks, dtype="int"))
    extent = join(bounds)
    device.emit(_loop(device, node, extent, device.names[node.target.id].id, node.body))


def _roles(device: Device, call: ast.Call) -> None:
    """`tl.range(…, warp_specialize=True)`."""
    asked = next((k.value for k in call.keywords if k.arg == "warp_specialize"), None)
    match asked:
        case None | ast.Constant(value=False):
            return
        case ast.Constant(value=True):
            device.emit(Event(EventKind.ROLES, "warp_specialize", call.lineno))
        case _:
            device.gap("whether a loop is warp-specialised is not told", call)


def _while(device: Device, node: ast.While) -> None:
    with device.block() as asked:
        extent = evaluate(device, node.test)
    for event in asked:
        device.emit(event)
    if any(isinstance(event, Event) and event.kind is EventKind.ATOMIC for event in asked):
        device.emit(Event(EventKind.BARRIER, "grid", node.lineno))
    loop = _loop(device, node, extent, f"while@{node.lineno}", node.body)
    if not loop.axes and touches_memory(loop.body):
        device.gap("a loop whose length is not told", node)
    device.emit(loop)


def _loop(
    device: Device, node: ast.For | ast.While, extent: Value, variable: str, body: list[ast.stmt]
) -> Loop:
    persistent = device.fixed and {WORKER, WORKERS} <= extent.marks and not device.shared
    depth = len(device.loops)
    device.loops.append(variable)
    device.shared += persistent
    with device.block() as nodes:
        run_body(device, body)
    device.loops.pop()
    device.shared -= persistent
    role = Role.PERSISTENT if persistent else Role.SEQUENTIAL
    return Loop(extent.axes, node.lineno, depth, variable, tuple(nodes), role, BLOCKED in extent.marks)


def _branch(device: Device, node: ast.stmt, bodies: list[list[ast.stmt]]) -> None:
    arms = []
    for body in bodies:
        with device.block() as nodes:
            run_body(device, body)
        arms.append(tuple(nodes))
    if any(arms):
        device.emit(Branch(tuple(arms), node.lineno))


# Expressions ---------------------------------------------------------------------------------------


def evaluate(device: Device, node: ast.expr) -> Value:
    """Value of an expression, with the events it causes."""
    value = _evaluate(device, node)
    device.effort.spend(value)
    return value


def _evaluate(device: Device, node: ast.expr) -> Value:
    match node:
        case ast.Constant(value=value):
            return Value(dtype={bool: "int", int: "int", float: "float32"}.get(type(value), ""))
        case ast.Name(id=name):
            return _name(device, name, node)
        case ast.BinOp():
            return _binary(device, node)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            evaluate(device, test)
            return join([evaluate(device, body), evaluate(device, orelse)], picks(test, body, orelse))
        case ast.Call():
            return device.caller(device, node)
        case ast.Subscript(value=value):
            return evaluate(device, value)
        case ast.Attribute():
            return Value(dtype=dtype_name(device.module, node))
        case ast.UnaryOp() | ast.Compare() | ast.BoolOp() | ast.Tuple() | ast.List():
            parts = [
                evaluate(device, child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)
            ]
            return join(parts)
    return device.gap(f"the expression {type(node).__name__} is not understood", node)


def picks(test: ast.expr, chosen: ast.expr, other: ast.expr) -> str:
    """`a if a > b else b` is `max`; the same for `tl.where(a > b, a, b)`."""
    match test:
        case ast.Compare(
            left=left, ops=[ast.Gt() | ast.GtE() | ast.Lt() | ast.LtE() as op], comparators=[right]
        ):
            sides = (ast.dump(left), ast.dump(right))
            if {ast.dump(chosen), ast.dump(other)} != set(sides):
                return ""
            greater = isinstance(op, (ast.Gt, ast.GtE))
            return "max" if greater == (ast.dump(chosen) == sides[0]) else "min"
    return ""


def _name(device: Device, name: str, node: ast.expr) -> Value:
    held = device.names.get(name)
    if held is not None:
        return replace(held.value, deps=held.value.deps | {held.id})
    if name in device.module.constants:
        return device.constant(device.module.constants[name])
    return device.gap(f"{name} is not known here", node)


def _binary(device: Device, node: ast.BinOp) -> Value:
    left, right = evaluate(device, node.left), evaluate(device, node.right)
    if isinstance(node.op, ast.LShift) and isinstance(node.right, ast.Constant) and node.right.value == 23:
        # Shifting by 23 bits puts a whole number into the exponent of a float32.
        device.emit(Event(EventKind.EXP, "polynomial", node.lineno))
        return join([left, right])
    if isinstance(node.op, ast.FloorDiv | ast.Mod) and is_regrouping(left, right):
        device.emit(Event(EventKind.REGROUP, "grouped", node.lineno))
    joined = join([left, right], _OPERATORS.get(type(node.op), ""))
    if isinstance(node.op, ast.FloorDiv):
        joined = quotient(left, right, "")
    # A whole number next to a floating-point value does not make the result one.
    floats = [part.dtype for part in (left, right) if part.dtype not in {"", "int"}]
    return replace(joined, dtype=floats[0] if floats else joined.dtype)
