"""Operators of Python on numbers, tensors and sequences; and constants of known modules."""

from __future__ import annotations

import ast
import math
import operator
from typing import TYPE_CHECKING

from search.formats.shapes.values import Array, Layer, Unread, Word, axis, broadcast, integer, promoted
from search.workload import DType

if TYPE_CHECKING:
    from collections.abc import Callable

_LARGEST_POWER = 64
_LONGEST = 4096
_LARGEST_INTEGER = 1 << 62

_NUMBERS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}

_TYPES: dict[str, DType] = {f"torch.{dtype}": dtype for dtype in DType} | {
    "torch.float": DType.FLOAT32,
    "torch.double": DType.FLOAT64,
    "torch.half": DType.FLOAT16,
    "torch.long": DType.INT64,
    "torch.int": DType.INT32,
}


def constant(name: str) -> object:
    """What a dotted name of a known module is: a type, a number, or a word to be called."""
    numbers = {"math.pi": math.pi, "math.e": math.e, "math.inf": math.inf, "torch.inf": math.inf}
    if name in numbers:
        return numbers[name]
    return _TYPES.get(name) or Word(name.replace("torch.nn.parameter.", "torch.nn."))


def binary(op: ast.operator, left: object, right: object) -> object:
    """`left op right`.

    Raises:
        Unread: not known for these.
    """
    if isinstance(left, Array) or isinstance(right, Array):
        return _arrays(op, left, right)
    if isinstance(left, list | tuple) or isinstance(right, list | tuple):
        return _sequences(op, left, right)
    if not isinstance(left, int | float) or not isinstance(right, int | float):
        raise Unread("arithmetic with something")
    return _numbers(op, left, right)


def _numbers(op: ast.operator, left: float, right: float) -> float:
    try:
        if isinstance(op, ast.Pow):
            if abs(right) > _LARGEST_POWER or abs(left) > _LARGEST_INTEGER:
                raise Unread("a large power")
            value: float = left**right
        else:
            value = _NUMBERS[type(op)](left, right)
    except (ZeroDivisionError, OverflowError, KeyError) as error:
        raise Unread("arithmetic that is not known") from error
    if isinstance(value, complex) or abs(value) > _LARGEST_INTEGER:
        raise Unread("a number out of range")
    return value


def _arrays(op: ast.operator, left: object, right: object) -> Array:
    shapes = [value.shape for value in (left, right) if isinstance(value, Array)]
    if isinstance(op, ast.MatMult):
        if len(shapes) != 2:
            raise Unread("a product with something")
        return Array(product(shapes[0], shapes[1]), promoted(left, right))
    if not all(isinstance(value, Array | int | float) for value in (left, right)):
        raise Unread("arithmetic with something")
    dtype = promoted(left, right)
    if isinstance(op, ast.Div) and not dtype.is_float:
        dtype = DType.FLOAT32
    return Array(broadcast(*shapes), dtype)


def product(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    """Shape of a matrix product.

    Raises:
        Unread: the shapes do not fit.
    """
    if not left or not right:
        raise Unread("a product with a scalar")
    inner = right[-2] if len(right) > 1 else right[0]
    if left[-1] != inner:
        raise Unread(f"a product of {tuple(map(int, left))} and {tuple(map(int, right))}")
    batch = broadcast(left[:-2], right[:-2])
    rows = left[-2:-1] if len(left) > 1 else ()
    columns = right[-1:] if len(right) > 1 else ()
    return (*batch, *rows, *columns)


def _sequences(op: ast.operator, left: object, right: object) -> object:
    if (
        isinstance(left, list | tuple)
        and isinstance(right, list | tuple)
        and len(left) + len(right) > _LONGEST
    ):
        raise Unread("a long sequence")
    if isinstance(op, ast.Add) and isinstance(left, list) and isinstance(right, list):
        return left + right
    if isinstance(op, ast.Add) and isinstance(left, tuple) and isinstance(right, tuple):
        return left + right
    held, times = (left, right) if isinstance(left, list | tuple) else (right, left)
    if isinstance(op, ast.Mult) and isinstance(held, list | tuple) and isinstance(times, int):
        if len(held) * times > _LONGEST:
            raise Unread("a long sequence")
        return held * int(times)
    raise Unread("arithmetic with a sequence")


def unary(op: ast.unaryop, value: object) -> object:
    """`op value`.

    Raises:
        Unread: not known for it.
    """
    if isinstance(op, ast.Not) and not isinstance(value, Array | Word):
        return not value
    if isinstance(value, Array):
        return value.shaped(value.shape)
    if isinstance(value, int | float):
        if isinstance(op, ast.USub):
            return -value
        if isinstance(op, ast.UAdd):
            return value
    raise Unread("a sign of something")


def compare(op: ast.cmpop, left: object, right: object) -> object:
    """`left op right`; of tensors, a tensor of truth values.

    Raises:
        Unread: not known for these.
    """
    if isinstance(op, ast.Is | ast.IsNot):
        if right is not None:
            raise Unread("a comparison by identity")
        return (left is None) is isinstance(op, ast.Is)
    if isinstance(left, Array) or isinstance(right, Array):
        shapes = [value.shape for value in (left, right) if isinstance(value, Array)]
        return Array(broadcast(*shapes), DType.BOOL)
    if (
        isinstance(op, ast.Eq | ast.NotEq)
        and isinstance(left, str | DType)
        and isinstance(right, str | DType)
    ):
        return (left == right) is isinstance(op, ast.Eq)
    known = isinstance(left, int | float) and isinstance(right, int | float)
    if known and type(op) in _COMPARISONS:
        return _COMPARISONS[type(op)](left, right)  # type: ignore[arg-type]  # known says what they are
    raise Unread("a comparison of something")


def subscript(value: object, index: object) -> object:
    """`value[index]`.

    Raises:
        Unread: not known for these.
    """
    try:
        match value:
            case Array():
                return value.view(_indexed(value.shape, index if isinstance(index, tuple) else (index,)))
            case list() | tuple():
                plain = index if isinstance(index, slice) else int(integer(index))
                return value[plain]
            case dict():
                return value[index]
            case Layer(kind="ModuleList" | "Sequential", inner=inner):
                return list(inner.values())[int(integer(index))]
    except (IndexError, KeyError, TypeError) as error:
        raise Unread("an index that is not there") from error
    raise Unread("a part of something")


def _indexed(shape: tuple[int, ...], index: tuple[object, ...]) -> list[int]:
    """Shape after indexing with whole numbers, slices, None, `...`, and at most one tensor of positions."""
    used = sum(part is not None and part is not Ellipsis for part in index)
    if used > len(shape):
        raise Unread("more indices than dimensions")
    if sum(isinstance(part, Array) for part in index) > 1:
        raise Unread("an index of several tensors")
    rest = list(shape)
    found: list[int] = []
    for part in index:
        if part is Ellipsis:
            skip = len(rest) - _still(index, part)
            found, rest = found + rest[:skip], rest[skip:]
        elif part is None:
            found.append(1)
        else:
            found += _one(rest.pop(0), part)
    return found + rest


def _still(index: tuple[object, ...], part: object) -> int:
    place = next(place for place, other in enumerate(index) if other is part)
    return sum(other is not None for other in index[place + 1 :])


def _one(size: int, part: object) -> list[int]:
    match part:
        case slice():
            return [_sliced(size, part)]
        case Array(dtype=DType.BOOL):
            raise Unread("an index by truth values, whose number is not known")
        case Array(shape=shape):
            return list(shape)
    axis(part, size)
    return []


def _sliced(size: int, part: slice) -> int:
    start = 0 if part.start is None else integer(part.start)
    stop = size if part.stop is None else integer(part.stop)
    step = 1 if part.step is None else integer(part.step)
    start = size + start if start < 0 else start
    stop = size + stop if stop < 0 else stop
    if int(step) < 1:
        raise Unread("a slice that runs backwards")
    stop = size if int(stop) > int(size) else stop
    if int(start) >= int(stop):
        return 0
    return (stop - start + step - 1) // step if int(step) > 1 else stop - start
