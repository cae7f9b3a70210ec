"""Calls in jitted functions: what `triton.language` does, and following other jitted functions."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from search.contract.facts import NO_AXES, Event, EventKind
from search.contract.sources.triton_device import evaluate, lowered, picks, run_body
from search.contract.sources.triton_syntax import LOW_PRECISION, device_function, dtype_name
from search.contract.sources.value import BLOCK, DESCRIBED, NOTHING, WORKER, WORKERS, Value, join, quotient

if TYPE_CHECKING:
    from search.contract.sources.triton_device import Device

_DEEPEST = 12
_EXPONENTIALS = {"exp", "exp2", "sigmoid", "erf", "tanh", "fast_expf", "expm1", "fast_tanhf"}
_PASS = {
    "sqrt", "sqrt_rn", "rsqrt", "abs", "floor", "ceil", "log", "log2", "multiple_of", "max_contiguous",
    "reshape", "view", "trans", "permute", "broadcast_to", "broadcast", "expand_dims", "ravel", "clamp", "advance",
    "div_rn", "constexpr", "rint", "round", "assume_aligned", "umulhi", "fdiv", "cos", "sin", "join", "split",
}  # fmt: skip
_NO_EFFECT = {"device_print", "static_print", "static_assert", "device_assert", "assume"}
_BLOCK_FOLDS = {
    "max": "max",
    "min": "min",
    "sum": "sum",
    "argmax": "other",
    "argmin": "other",
    "xor_sum": "other",
}
_ELEMENT_FOLDS = {"maximum": "max", "minimum": "min"}
_DESCRIPTOR_METHODS = {"load", "store", "gather", "scatter", "atomic_add"}
_LOCKS = {"atomic_cas", "atomic_xchg"}
_BUILT_IN = {"min": "min", "max": "max", "float": "", "int": "", "abs": "", "len": ""}


def call(device: Device, node: ast.Call) -> Value:
    """Value of a call."""
    name = device_function(device.module, node.func)
    if name:
        return _library(device, name, node)
    match node.func:
        case ast.Name(id=function) if function in device.module.jitted:
            return follow(device, function, node)
        case ast.Name(id=function) if function in _BUILT_IN:
            return join(_arguments(device, node), _BUILT_IN[function])
        case ast.Attribute(value=holder, attr=method):
            return _method(device, holder, method, node)
    return device.gap(f"the function {ast.unparse(node.func)} is not known", node)


def follow(device: Device, name: str, node: ast.Call) -> Value:
    """Follow a jitted function as if it stood here."""
    if name in device.calls or len(device.calls) >= _DEEPEST:
        return device.gap(f"{name} calls itself or nests too deep", node)
    given = [evaluate(device, argument) for argument in node.args]
    named = {keyword.arg: evaluate(device, keyword.value) for keyword in node.keywords if keyword.arg}
    outside, device.names = device.names, {}
    returned, device.returns = device.returns, []
    function = device.module.jitted[name]
    bind(device, function, given, named)
    device.calls.append(name)
    run_body(device, function.body)
    device.calls.pop()
    values, device.returns, device.names = device.returns, returned, outside
    return replace(join(values), op=values[0].op) if values else NOTHING


def bind(device: Device, function: ast.FunctionDef, given: list[Value], named: dict[str, Value]) -> None:
    """Give parameters their values; a default is evaluated where none was given."""
    parameters = [*function.args.posonlyargs, *function.args.args]
    defaults = dict(zip([p.arg for p in parameters[::-1]], function.args.defaults[::-1], strict=False))
    for position, parameter in enumerate([*parameters, *function.args.kwonlyargs]):
        if position < len(given):
            value = given[position]
        elif parameter.arg in named:
            value = named[parameter.arg]
        elif parameter.arg in defaults:
            value = evaluate(device, defaults[parameter.arg])
        else:
            value = NOTHING
        device.assign(parameter.arg, value)


def _arguments(device: Device, node: ast.Call) -> list[Value]:
    values = [*node.args, *(keyword.value for keyword in node.keywords)]
    return [evaluate(device, value) for value in values]


def _method(device: Device, holder: ast.expr, method: str, node: ast.Call) -> Value:
    value = evaluate(device, holder)
    if method == "to":
        return _cast(device, value, node.args[:1], node)
    if method in _BLOCK_FOLDS:
        return _block_fold(device, method, value, node)
    if method in _DESCRIPTOR_METHODS and value.places:
        return _through_descriptor(device, method, value, node)
    if method in _PASS:
        return value
    return device.gap(f"the method {method} is not known", node)


def _library(device: Device, name: str, node: ast.Call) -> Value:
    handler = _HANDLERS.get(name)
    if handler is not None:
        return handler(device, node)
    if name in _NO_EFFECT:
        return NOTHING
    if name.startswith("atomic_"):
        return _atomic(device, name, node)
    if name in _EXPONENTIALS:
        device.emit(Event(EventKind.EXP, "libm", node.lineno))
        value = join(_arguments(device, node))
        return replace(value, dtype=value.dtype or "float32")
    if name in _BLOCK_FOLDS:
        values = _arguments(device, node)
        return _block_fold(device, name, values[0] if values else NOTHING, node)
    if name in _ELEMENT_FOLDS:
        return join(_arguments(device, node), _ELEMENT_FOLDS[name])
    if name in _PASS:
        return replace(join(_arguments(device, node)), op="")
    return device.gap(f"tl.{name} is not known", node)


def _atomic(device: Device, name: str, node: ast.Call) -> Value:
    """An update of memory; whole numbers are counted or locked, anything else is added up."""
    values = _arguments(device, node)
    pointer = values[0] if values else NOTHING
    device.touch(EventKind.WRITE, pointer, node)
    for value in values[1:]:
        lowered(device, value, node)
    counts = name in _LOCKS or pointer.dtype == "int"
    device.emit(Event(EventKind.ATOMIC, name, node.lineno, dtype="int" if counts else pointer.dtype))
    return Value(dtype=pointer.dtype)


def _barrier(device: Device, node: ast.Call) -> Value:
    device.emit(Event(EventKind.BARRIER, "block", node.lineno))
    return NOTHING


def _block_fold(device: Device, name: str, value: Value, node: ast.Call) -> Value:
    """A reduction inside one block: not carried by any loop."""
    lowered(device, value, node)
    event = Event(
        EventKind.FOLD,
        _BLOCK_FOLDS[name],
        node.lineno,
        target=f"block@{node.lineno}",
        level=len(device.loops) + 1,
        dtype=value.dtype,
        span=value.span,
    )
    device.emit(event)
    return replace(value, span=NO_AXES, op="")


def _cast(device: Device, value: Value, types: list[ast.expr], node: ast.Call) -> Value:
    dtype = dtype_name(device.module, types[0]) if types else ""
    if dtype in LOW_PRECISION:
        return value.rounded(dtype)
    known = dtype or ("int" if types and "int" in ast.unparse(types[0]) else value.dtype)
    return replace(value, dtype=known)


def _handle_cast(device: Device, node: ast.Call) -> Value:
    types = [*node.args[1:2], *(k.value for k in node.keywords if k.arg == "dtype")]
    return _cast(device, evaluate(device, node.args[0]), types, node) if node.args else NOTHING


def _program_id(device: Device, node: ast.Call) -> Value:
    values = [*node.args, *(keyword.value for keyword in node.keywords)]
    match values:
        case [ast.Constant(value=int(dimension))]:
            device.programs.add(dimension)
            return Value(marks=frozenset({WORKER}), dtype="int")
    return device.gap("a program number whose dimension is not a plain number", node)


def _num_programs(device: Device, node: ast.Call) -> Value:
    del node
    # Only a launch with a fixed grid has a number of programs that does not follow the axes.
    return Value(marks=frozenset({WORKERS}) if device.fixed else frozenset(), dtype="int")


def _cdiv(device: Device, node: ast.Call) -> Value:
    values = _arguments(device, node)
    if len(values) != 2:
        return device.gap("tl.cdiv without two arguments", node)
    return quotient(values[0], values[1], "")


def _arange(device: Device, node: ast.Call) -> Value:
    """Indices cover the axes that the block's size depends on."""
    return Value(span=join(_arguments(device, node)).axes, marks=frozenset({BLOCK}), dtype="int")


def _load(device: Device, node: ast.Call) -> Value:
    pointer = _pointer(device, node, mask_at=1)
    device.touch(EventKind.READ, pointer, node)
    return replace(pointer, places=frozenset(), rank=0, op="", axes=NO_AXES)


def _store(device: Device, node: ast.Call) -> Value:
    pointer = _pointer(device, node, mask_at=2)
    named = [keyword.value for keyword in node.keywords if keyword.arg == "value"]
    stored = [evaluate(device, argument) for argument in [*node.args[1:2], *named]]
    _write(device, pointer, stored[0] if stored else NOTHING, node)
    return NOTHING


def _write(device: Device, pointer: Value, stored: Value, node: ast.Call) -> None:
    """A store; only an output may be narrower than what is stored to it, because its type is the workload's."""
    device.touch(EventKind.WRITE, pointer, node)
    is_output = all(place.startswith("output:") for place in pointer.places)
    if not is_output or stored.lowered != [pointer.dtype]:
        lowered(device, stored, node)
    if not is_output and pointer.dtype in LOW_PRECISION and stored.dtype not in {pointer.dtype, ""}:
        lowered(device, stored.rounded(pointer.dtype), node)


def _through_descriptor(device: Device, method: str, value: Value, node: ast.Call) -> Value:
    """`descriptor.load([m, n])`, `descriptor.store([m, n], block)`."""
    values = _arguments(device, node)
    if method in {"load", "gather"}:
        device.touch(EventKind.READ, value, node)
        marks = (value.marks | {BLOCK}) - {DESCRIBED}
        return replace(value, places=frozenset(), rank=0, op="", axes=NO_AXES, marks=marks)
    _write(device, value, values[-1] if values else NOTHING, node)
    return NOTHING


def _descriptor(device: Device, node: ast.Call) -> Value:
    """A descriptor: its tensor, and the axes that the block's shape depends on."""
    pointer = _block_pointer(device, node)
    described(device, pointer, node)
    return replace(pointer, marks=pointer.marks | {DESCRIBED})


def described(device: Device, value: Value, node: ast.AST) -> None:
    """Note the tensors that a descriptor is of."""
    for place in sorted(value.places):
        device.emit(Event(EventKind.DESCRIPTOR, place, getattr(node, "lineno", 1)))


def _pointer(device: Device, node: ast.Call, mask_at: int) -> Value:
    """Pointer of a load or store; a block that is masked against an axis covers that axis."""
    masks = [*node.args[mask_at : mask_at + 1], *(k.value for k in node.keywords if k.arg == "mask")]
    values = _arguments(device, node)
    pointer = values[0] if values else NOTHING
    covered = join([evaluate(device, mask) for mask in masks]).axes if BLOCK in pointer.marks else NO_AXES
    return replace(pointer, span=pointer.span | covered)


def _filled(device: Device, node: ast.Call) -> Value:
    """`zeros`, `full` and their relatives: a block of a type, whose sizes are no data."""
    values = _arguments(device, node)
    types = [
        dtype
        for argument in [*node.args, *(k.value for k in node.keywords)]
        if (dtype := _type_of(device, argument))
    ]
    dtype = types[0] if types else join(values).dtype
    if dtype in LOW_PRECISION:
        device.emit(Event(EventKind.CAST, dtype, node.lineno))
    return Value(dtype=dtype, span=join(values).span)


def _type_of(device: Device, node: ast.expr) -> str:
    return dtype_name(device.module, node) if isinstance(node, (ast.Attribute, ast.Name)) else ""


def _where(device: Device, node: ast.Call) -> Value:
    if len(node.args) != 3:
        return device.gap("tl.where with other than three arguments", node)
    test, chosen, other = node.args
    evaluate(device, test)
    one, two = evaluate(device, chosen), evaluate(device, other)
    return join([one, two], picks(test, chosen, other) or one.op or two.op)


def _fma(device: Device, node: ast.Call) -> Value:
    values = _arguments(device, node)
    return join([join(values[:2], "*"), join(values[2:])], "+")


def _dot(device: Device, node: ast.Call) -> Value:
    options = {keyword.arg: keyword.value for keyword in node.keywords}
    precision = "tf32"
    match options.get("input_precision"), options.get("allow_tf32"):
        case ast.Constant(value=str(word)), _:
            precision = word
        case None, ast.Constant(value=False):
            precision = "ieee"
        case ast.expr(), _:
            device.gap("the precision of a dot product is not a plain word", node)
    values = [evaluate(device, argument) for argument in node.args]
    if any(value.dtype in LOW_PRECISION for value in values[:2]):
        precision = "ieee"  # sixteen bits have no more digits than the matrix unit keeps
    device.emit(Event(EventKind.DOT, precision, node.lineno))
    for value in values[:2]:
        lowered(device, value, node)
    values += [evaluate(device, options[name]) for name in ("acc",) if name in options]
    dtype = _type_of(device, options["out_dtype"]) if "out_dtype" in options else "float32"
    if dtype in LOW_PRECISION:
        device.emit(Event(EventKind.CAST, dtype, node.lineno))
    return replace(join(values, "+"), dtype=dtype)


def _block_pointer(device: Device, node: ast.Call) -> Value:
    """A pointer to a block: its tensor, and the axes that the block's shape depends on."""
    arguments = dict(zip(("base", "shape", "strides", "offsets", "block_shape"), node.args, strict=False))
    arguments |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    parts = {name: evaluate(device, value) for name, value in arguments.items() if name != "order"}
    base = parts.get("base", NOTHING)
    return replace(base, span=parts.get("block_shape", NOTHING).axes)


_HANDLERS = {
    "program_id": _program_id,
    "num_programs": _num_programs,
    "arange": _arange,
    "cdiv": _cdiv,
    "load": _load,
    "store": _store,
    "zeros": _filled,
    "full": _filled,
    "zeros_like": _filled,
    "full_like": _filled,
    "cast": _handle_cast,
    "where": _where,
    "fma": _fma,
    "dot": _dot,
    "make_block_ptr": _block_pointer,
    "make_tensor_descriptor": _descriptor,
    "_experimental_make_tensor_descriptor": _descriptor,
    "debug_barrier": _barrier,
}
