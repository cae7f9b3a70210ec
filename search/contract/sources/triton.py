"""Facts of a Triton source, followed from `run` through every launch.

1. `triton_syntax` indexes imports, jitted and plain functions.
2. This module follows `run` on the host: sizes, allocations, launches and their grids.
3. `triton_device` and `triton_calls` follow each launched function with the arguments of its launch.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from search.contract.facts import (
    AXIS_KNOBS,
    NO_AXES,
    Buffer,
    Event,
    EventKind,
    Gap,
    Kernel,
    Loop,
    Node,
    Program,
    Role,
)
from search.contract.sources.triton_calls import bind, call, described
from search.contract.sources.triton_device import Device, run_body
from search.contract.sources.triton_syntax import Module, dtype_name, index
from search.contract.sources.value import (
    BLOCKED,
    DESCRIBED,
    NOTHING,
    WORKERS,
    Effort,
    Value,
    join,
    quotient,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from search.records import Signature

_ALLOCATES = {"empty", "zeros", "ones", "full", "empty_strided"}
_ALLOCATES_LIKE = {"empty_like", "zeros_like", "ones_like", "full_like", "new_empty", "new_zeros"}
_SIZES = {"cdiv", "next_power_of_2"}
_BUILT_IN = {"min", "max", "int", "len", "abs", "float", "bool", "print", "str"}
_METADATA = {"stride", "numel", "element_size", "dim", "is_contiguous", "data_ptr", "get", "item"}
_QUERIES = {"finfo", "iinfo", "Size", "is_tensor", "dtype", "numel"}
_TURNED = {"t", "T", "mT", "transpose"}
_SAME_MEMORY = {"view", "reshape", "flatten", "detach"}
"""Views of the arguments' contiguous memory."""
_DESCRIPTORS = {"TensorDescriptor", "from_tensor"}
_CONSUMERS = "num_consumer_groups"
"""Launch option that splits the warps of a program into roles."""
_PROGRAMS = "PROGRAMS"
"""The knob that says how many programs a fixed grid has."""


@dataclass(frozen=True)
class Tensor:
    """A tensor of the host: an argument of `run` or something it allocates."""

    place: str
    sizes: tuple[Value, ...]
    dtype: str
    block: Value | None = None
    """Shape of the block that a descriptor of it moves; None for a plain tensor."""
    turned: bool = False
    """Its axes are swapped, so that giving it another shape copies it."""


@dataclass(frozen=True)
class Jitted:
    """A jitted function under any name."""

    name: str


Held = Value | Tensor | Jitted | tuple["Held", ...] | ast.Lambda | ast.FunctionDef


@dataclass
class Host:
    """State of a walk through `run`."""

    module: Module
    signature: Signature
    names: dict[str, Held] = field(default_factory=dict)
    kernels: list[Kernel] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    conditions: int = 0
    calls: list[str] = field(default_factory=list)
    effort: Effort = field(default_factory=Effort)

    def gap(self, reason: str, node: ast.AST) -> Value:
        """Note that something is not understood."""
        self.gaps.append(Gap(reason, getattr(node, "lineno", 1)))
        return NOTHING


def read_triton(source: str, entry_point: str, signature: Signature) -> Program:
    """What a Triton source does; places it does not understand are gaps."""
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        return Program(gaps=(Gap(f"does not parse: {error.msg}", error.lineno or 1),))
    except (ValueError, RecursionError, MemoryError) as error:
        return Program(gaps=(Gap(f"does not parse: {error}", 1),))
    module = index(tree)
    entry = module.plain.get(entry_point)
    if entry is None:
        return Program(gaps=(Gap(f"there is no function {entry_point}", 1),))
    host = Host(module, signature)
    for statement in [*module.opaque, *entry.decorator_list]:
        host.gap("module-level code that could change what a name means", statement)
    host.names = dict(zip([a.arg for a in entry.args.args], _arguments(signature), strict=False))
    _run(host, entry.body)
    return Program(tuple(host.kernels), tuple(host.buffers), tuple(host.gaps))


def _arguments(signature: Signature) -> list[Held]:
    kinds = [("input", signature.inputs), ("output", signature.outputs)]
    return [
        Tensor(
            f"{kind}:{name}",
            tuple(Value(axes=frozenset({axis}), dtype="int") for axis in axes),
            signature.dtypes.get(name, ""),
        )
        for kind, tensors in kinds
        for name, axes in tensors.items()
    ]


# Statements ----------------------------------------------------------------------------------------


def _run(host: Host, body: list[ast.stmt]) -> None:
    for statement in body:
        _statement(host, statement)
        if isinstance(statement, ast.Return):
            return


def _statement(host: Host, node: ast.stmt) -> None:
    host.effort.spend()
    match node:
        case ast.Assign(targets=[target], value=value):
            _assign(host, target, _evaluate(host, value, _target_name(target)), node)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            _assign(host, target, _evaluate(host, value, _target_name(target)), node)
        case ast.FunctionDef(name=name):
            host.names[name] = node
        case (
            ast.Expr(value=ast.Constant()) | ast.Pass() | ast.Assert() | ast.Return(value=None) | ast.Raise()
        ):
            return
        case ast.Expr(value=value) | ast.Return(value=ast.expr() as value):
            _evaluate(host, value)
        case ast.If(test=test, body=body, orelse=orelse):
            _evaluate(host, test)
            _conditional(host, [body, orelse])
        case ast.For(body=body) | ast.While(body=body):
            _conditional(host, [body])
        case ast.With(body=body):
            _run(host, body)
        case _:
            host.gap(f"the statement {type(node).__name__} is not understood", node)


def _conditional(host: Host, bodies: list[list[ast.stmt]]) -> None:
    host.conditions += 1
    for body in bodies:
        _run(host, body)
    host.conditions -= 1


def _target_name(target: ast.expr) -> str:
    return target.id if isinstance(target, ast.Name) else ""


def _assign(host: Host, target: ast.expr, value: Held, node: ast.stmt) -> None:
    match target, value:
        case ast.Name(id=name), _:
            host.names[name] = value
        case ast.Tuple(elts=names), tuple() if len(names) == len(value):
            for inner, part in zip(names, value, strict=True):
                _assign(host, inner, part, node)
        case _:
            host.gap("an assignment that is not understood", node)


# Expressions ---------------------------------------------------------------------------------------


def _evaluate(host: Host, node: ast.expr, name: str = "") -> Held:
    """Value of an expression; `name` is what a fresh allocation is called."""
    match node:
        case ast.Constant():
            return Value(dtype="int" if isinstance(node.value, int) else "")
        case ast.Name(id=identifier):
            return _name(host, identifier, node)
        case ast.Lambda():
            return node
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return tuple(held for part in parts for held in _elements(host, part))
        case ast.Attribute(value=value, attr=attribute):
            return _attribute(host, value, attribute, node)
        case ast.Subscript(value=value, slice=key):
            return _subscript(host, value, key, node)
        case ast.Call():
            return _call(host, node, name)
        case ast.BinOp(left=left, op=ast.FloorDiv(), right=right):
            return _divided([_plain(_evaluate(host, left)), _plain(_evaluate(host, right))], right)
        case ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.BoolOp() | ast.IfExp():
            children = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
            return join([_plain(_evaluate(host, child)) for child in children])
    return host.gap(f"the expression {ast.unparse(node)[:60]} is not understood", node)


def _elements(host: Host, part: ast.expr) -> tuple[Held, ...]:
    """One element of a tuple, or all that a starred one stands for."""
    if not isinstance(part, ast.Starred):
        return (_evaluate(host, part),)
    held = _evaluate(host, part.value)
    return held if isinstance(held, tuple) else (host.gap("a starred value that is no tuple", part),)


def _divided(parts: list[Value], by: ast.expr) -> Value:
    """A number of blocks, but for a division by one."""
    whole = isinstance(by, ast.Constant) and by.value == 1
    return parts[0] if whole else quotient(parts[0], parts[1], "")


def _plain(held: Held) -> Value:
    """Any host value as one that a kernel can be given."""
    match held:
        case Value():
            return held
        case Tensor(place=place, dtype=dtype, block=None):
            return Value(places=frozenset({place}), rank=1, dtype=dtype)
        case Tensor(place=place, dtype=dtype, block=Value() as block):
            marks = frozenset({DESCRIBED})
            return Value(places=frozenset({place}), rank=1, dtype=dtype, span=block.axes, marks=marks)
        case tuple():
            return join([_plain(part) for part in held])
    return NOTHING


def _name(host: Host, name: str, node: ast.expr) -> Held:
    if name in host.names:
        return host.names[name]
    if name in host.module.constants:
        return _evaluate(host, host.module.constants[name])
    if name in host.module.plain:
        return host.module.plain[name]
    if name in host.module.jitted:
        return Jitted(name)
    if name in host.module.aliases or name in _BUILT_IN:
        return NOTHING
    return host.gap(f"{name} is not known here", node)


def _attribute(host: Host, value: ast.expr, attribute: str, node: ast.expr) -> Held:
    if host.module.dotted(node).startswith(("torch.", "triton.")):
        return NOTHING
    held = _evaluate(host, value)
    if isinstance(held, Tensor) and attribute == "shape":
        return held.sizes
    if isinstance(held, Tensor) and attribute in _TURNED:
        return replace(held, sizes=held.sizes[::-1], turned=not held.turned)
    if attribute == "multi_processor_count":
        return Value(marks=frozenset({WORKERS}), dtype="int")
    return NOTHING


def _subscript(host: Host, value: ast.expr, key: ast.expr, node: ast.expr) -> Held:
    if isinstance(key, ast.Constant) and isinstance(key.value, str):  # KNOBS["SPLITS"], meta["SPLITS"]
        name = key.value
        marks = frozenset({WORKERS}) if name == _PROGRAMS else frozenset()
        return Value(axes=AXIS_KNOBS & {name}, marks=marks, dtype="int")
    held = _evaluate(host, value)
    position = _position(key)
    if isinstance(held, tuple) and position is not None and -len(held) <= position < len(held):
        return held[position]
    return _plain(held) if not isinstance(held, Tensor) else host.gap("a view of a tensor", node)


def _position(key: ast.expr) -> int | None:
    match key:
        case ast.Constant(value=int(position)):
            return position
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(position))):
            return -position
    return None


# Calls ---------------------------------------------------------------------------------------------


def _call(host: Host, node: ast.Call, name: str) -> Held:
    match node.func:
        case ast.Subscript(value=ast.Name(id=kernel) as name_node, slice=grid) if _known(host, kernel):
            held = _name(host, kernel, name_node)
            if isinstance(held, Jitted):
                return _launch(host, held.name, grid, node)
    dotted = host.module.dotted(node.func)
    if dotted.startswith("torch."):
        return _torch(host, dotted, node, name)
    if dotted.startswith("triton.tools.") and dotted.rsplit(".", 1)[-1] in _DESCRIPTORS:
        return _describe(host, node)
    if dotted in _BUILT_IN or (dotted.startswith("triton.") and dotted.rsplit(".", 1)[-1] in _SIZES):
        parts = [_plain(_evaluate(host, argument)) for argument in node.args]
        return _divided(parts, node.args[1]) if dotted.endswith(".cdiv") and len(parts) == 2 else join(parts)
    if isinstance(node.func, ast.Attribute):
        return _method(host, node.func, node, name)
    held = _evaluate(host, node.func)
    if isinstance(held, ast.FunctionDef | ast.Lambda):
        return _follow(host, held, [_evaluate(host, argument) for argument in node.args], node)
    return host.gap(f"the function {ast.unparse(node.func)[:60]} is not known", node)


def _known(host: Host, name: str) -> bool:
    return name in host.names or name in host.module.jitted or name in host.module.constants


def _describe(host: Host, node: ast.Call) -> Held:
    """A descriptor made on the host: its tensor, and the block that it moves."""
    given = [_evaluate(host, argument) for argument in node.args]
    given += [_evaluate(host, keyword.value) for keyword in node.keywords]
    if not given or not isinstance(given[0], Tensor):
        return host.gap("a descriptor of something that is no tensor", node)
    return replace(given[0], block=_plain(given[-1]))


def _follow(host: Host, function: ast.FunctionDef | ast.Lambda, given: list[Held], node: ast.expr) -> Held:
    """Follow a plain function of the module as if it stood here; what it returns is not followed."""
    label = function.name if isinstance(function, ast.FunctionDef) else "lambda"
    if label in host.calls:
        return host.gap(f"{label} calls itself", node)
    outside = host.names
    host.names = {**outside, **dict(zip([a.arg for a in function.args.args], given, strict=False))}
    host.calls.append(label)
    if isinstance(function, ast.Lambda):
        result = _evaluate(host, function.body)
    else:
        _run(host, function.body)
        returned = [n.value for n in ast.walk(function) if isinstance(n, ast.Return) and n.value is not None]
        result = _evaluate(host, returned[0]) if len(returned) == 1 else NOTHING
    host.calls.pop()
    host.names = outside
    return result


def _torch(host: Host, dotted: str, node: ast.Call, name: str) -> Held:
    """Allocations are buffers; queries are nothing; anything else of torch is work of its own."""
    function = dotted.rsplit(".", 1)[-1]
    arguments = [_evaluate(host, argument) for argument in node.args]
    if function in _ALLOCATES:
        sizes = [argument for argument in arguments if not isinstance(argument, Tensor)]
        return _allocate(host, _flat(sizes), node, name)
    if function in _ALLOCATES_LIKE and arguments and isinstance(arguments[0], Tensor):
        return _allocate(host, arguments[0].sizes, node, name, arguments[0].dtype)
    if dotted.startswith(("torch.cuda.", "torch.device")) or function in _QUERIES:
        return NOTHING
    host.kernels.append(Kernel(dotted, node.lineno, (), library=True))
    return NOTHING


def _method(host: Host, function: ast.Attribute, node: ast.Call, name: str) -> Held:
    held = _evaluate(host, function.value)
    arguments = [_evaluate(host, argument) for argument in node.args]
    if not isinstance(held, Tensor):
        return _plain(held)
    if function.attr == "size":
        position = _position(node.args[0]) if node.args else None
        return held.sizes[position] if position is not None and position < len(held.sizes) else held.sizes
    if function.attr in _ALLOCATES_LIKE:
        return _allocate(host, _flat(arguments), node, name, held.dtype)
    if function.attr == "numel":
        return join(held.sizes)
    if function.attr in _METADATA:
        return Value(dtype="int")
    if function.attr in _TURNED:
        return replace(held, sizes=held.sizes[::-1], turned=not held.turned)
    if any(dtype_name(host.module, argument) for argument in node.args):
        return host.gap("a tensor seen as another type", node)
    if function.attr in _SAME_MEMORY and not held.turned:
        return replace(held, sizes=_viewed(held, _flat(arguments), node))
    host.kernels.append(Kernel(f"torch.{function.attr}", node.lineno, (), library=True))
    return NOTHING


def _viewed(held: Tensor, sizes: tuple[Value, ...], node: ast.Call) -> tuple[Value, ...]:
    """Sizes of a view; `-1` stands for all axes that no other size names."""
    whole = join(held.sizes)
    if not sizes:
        return (whole,)
    rest = whole.axes - NO_AXES.union(*(size.axes for size in sizes))
    inferred = [_position(argument) == -1 for argument in node.args]
    return tuple(
        replace(size, axes=rest) if place < len(inferred) and inferred[place] else size
        for place, size in enumerate(sizes)
    )


def _flat(held: Iterable[Held]) -> tuple[Value, ...]:
    return tuple(_plain(part) for one in held for part in (one if isinstance(one, tuple) else (one,)))


def _allocate(
    host: Host, sizes: tuple[Value, ...], node: ast.Call, name: str, dtype: str = "float32"
) -> Tensor:
    options = {keyword.arg: keyword.value for keyword in node.keywords}
    if "size" in options:
        sizes = _flat([_evaluate(host, options["size"])])
    given = _type_of(host, options["dtype"]) if "dtype" in options else ""
    if "dtype" in options and not given:
        host.gap("the type of a fresh tensor is not told", node)
    label = name or f"unnamed@{node.lineno}"
    host.buffers.append(Buffer(label, join(sizes).axes, node.lineno))
    return Tensor(f"buffer:{label}", sizes, given or dtype)


def _type_of(host: Host, node: ast.expr) -> str:
    """Element type of a fresh tensor; `x.dtype` is that of `x`."""
    if isinstance(node, ast.Attribute) and node.attr == "dtype":
        held = _evaluate(host, node.value)
        return held.dtype if isinstance(held, Tensor) else ""
    if isinstance(node, ast.Name) and node.id in host.module.constants:
        return _type_of(host, host.module.constants[node.id])
    whole = host.module.dotted(node).startswith(("torch.int", "torch.uint", "torch.bool"))
    return dtype_name(host.module, node) or ("int" if whole else "")


# Launches ------------------------------------------------------------------------------------------


def _launch(host: Host, name: str, grid: ast.expr, node: ast.Call) -> Value:
    if host.conditions:
        host.gap(f"{name} is launched under a condition or in a loop", node)
    given = [_plain(_evaluate(host, argument)) for argument in node.args]
    named = {keyword.arg: _plain(_evaluate(host, keyword.value)) for keyword in node.keywords if keyword.arg}
    sizes = _grid(host, grid, node)
    fixed = any(WORKERS in size.marks for size in sizes)
    device = Device(host.module, fixed, call, lambda expression: _plain(_evaluate(host, expression)))
    device.effort = host.effort
    device.calls.append(name)
    function = host.module.jitted[name]
    for value in (*given, *named.values()):
        if DESCRIBED in value.marks:
            described(device, value, node)
    if _CONSUMERS in named or any(_CONSUMERS in ast.unparse(one) for one in function.decorator_list):
        device.emit(Event(EventKind.ROLES, _CONSUMERS, node.lineno))
    bind(device, function, given, named)
    run_body(device, function.body)
    body = tuple(device.nodes[0])
    used = [size for dimension, size in enumerate(sizes) if dimension in device.programs]
    axes = NO_AXES.union(*(size.axes for size in used))
    blocked = any(BLOCKED in size.marks for size in used)
    programs: tuple[Node, ...] = (Loop(axes, node.lineno, 0, "program", body, Role.GRID, blocked),)
    host.kernels.append(Kernel(name, function.lineno, programs))
    return NOTHING


def _grid(host: Host, grid: ast.expr, node: ast.Call) -> tuple[Value, ...]:
    held = _evaluate(host, grid)
    if isinstance(held, ast.Lambda | ast.FunctionDef):
        held = _follow(host, held, [NOTHING], node)
    match held:
        case tuple():
            return tuple(_plain(part) for part in held)
        case Value():
            return (held,)
    host.gap("a grid that is not understood", node)
    return ()
