"""Functions of `torch` that make tensors of a given shape; those that are drawn remember how."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.formats.shapes.values import Array, Size, Unread, integer, tensor
from search.workload import DType, RandomInput

if TYPE_CHECKING:
    from collections.abc import Callable


def sizes(*given: object) -> tuple[int, ...]:
    """Sizes given one by one, or as one sequence.

    Raises:
        Unread: they are no whole numbers.
    """
    parts = given[0] if len(given) == 1 and isinstance(given[0], list | tuple) else given
    assert isinstance(parts, list | tuple)
    return tuple(integer(part) for part in parts)


def dtype_of(dtype: object, default: DType = DType.FLOAT32) -> DType:
    """An element type that is given or left out.

    Raises:
        Unread: it is none of ours.
    """
    if dtype is None:
        return default
    if not isinstance(dtype, DType):
        raise Unread("an element type that is not known here")
    return dtype


def _new(drawn: RandomInput | None) -> Callable[..., object]:
    def made(*given: object, dtype: object = None, size: object = None, **_: object) -> Array:
        shape = sizes(*given) if size is None else sizes(size)
        kind = dtype_of(dtype)
        return Array(shape, kind, drawn if kind.is_float else None)

    return made


def _randint(*given: object, dtype: object = None, **named: object) -> Array:
    parts = list(given)
    low = named.get("low", parts.pop(0) if "high" not in named and len(parts) > 2 - ("size" in named) else 0)
    high = named.get("high", parts.pop(0) if parts else None)
    shape = sizes(named.get("size", parts[0] if parts else ()))
    kind = dtype_of(dtype, DType.INT64)
    bounds = int(integer(low)), int(integer(high))
    return Array(shape, kind, None if kind.is_float else RandomInput(low=bounds[0], high=bounds[1]))


def _arange(*given: object, dtype: object = None, **_: object) -> Array:
    low, high, step = (0, *given, 1) if len(given) == 1 else (*given, 1)[:3]
    count = (integer(high) - integer(low) + integer(step) - 1) // integer(step)
    return Array((count,), dtype_of(dtype, DType.INT64))


def _full(shape: object, value: object, dtype: object = None, **_: object) -> Array:
    kinds = {bool: DType.BOOL, int: DType.INT64, Size: DType.INT64}
    return Array(sizes(shape), dtype_of(dtype, kinds.get(type(value), DType.FLOAT32)))


def _constant(value: object, dtype: object = None, **_: object) -> Array:
    shape: list[int] = []
    while isinstance(value, list | tuple):
        shape.append(len(value))
        value = value[0] if value else 0.0
    return _full(tuple(shape), value, dtype)


def _like(like: object, dtype: object = None, **_: object) -> Array:
    return Array(tensor(like).shape, dtype_of(dtype, tensor(like).dtype))


def _randperm(count: object, **_: object) -> Array:
    return Array((integer(count),), DType.INT64)


def _eye(rows: object, columns: object = None, dtype: object = None, **_: object) -> Array:
    return Array((integer(rows), integer(rows if columns is None else columns)), dtype_of(dtype))


FUNCTIONS: dict[str, Callable[..., object]] = (
    dict.fromkeys(("zeros", "ones", "empty"), _new(None))
    | dict.fromkeys(("zeros_like", "ones_like", "empty_like", "rand_like", "randn_like", "full_like"), _like)
    | {
        "rand": _new(RandomInput(distribution="uniform")),
        "randn": _new(RandomInput()),
        "randint": _randint,
        "randperm": _randperm,
        "arange": _arange,
        "full": _full,
        "tensor": _constant,
        "eye": _eye,
    }
)
