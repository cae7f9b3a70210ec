"""What Python's own functions and `math` make of numbers, sequences and tensors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from search.formats.shapes.values import Array, Layer, Unread, integer

if TYPE_CHECKING:
    from collections.abc import Callable

_LONGEST = 512


def _len(value: object) -> int:
    if isinstance(value, Array):
        if not value.shape:
            raise Unread("the length of a scalar")
        return value.shape[0]
    if isinstance(value, Layer):
        return len(value.inner)
    if isinstance(value, list | tuple | dict | range | str):
        return len(value)
    raise Unread("the length of something")


def _range(*bounds: object) -> range:
    made = range(*(int(integer(bound)) for bound in bounds))
    if len(made) > _LONGEST:
        raise Unread(f"a loop of more than {_LONGEST} rounds")
    return made


def _int(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unread("`int` of something")
    return value if isinstance(value, int) else int(value)


def _float(value: object) -> float:
    if isinstance(value, str) and value.strip("+-").lower() in ("inf", "infinity", "nan"):
        return float(value)
    if isinstance(value, int | float):
        return float(value)
    raise Unread("`float` of something")


def _extreme(pick: Callable[..., float]) -> Callable[..., float]:
    def chosen(*values: object) -> float:
        held = values[0] if len(values) == 1 else values
        if not isinstance(held, list | tuple) or not all(isinstance(one, int | float) for one in held):
            raise Unread("the largest or smallest of something")
        return pick(held)

    return chosen


def _sequence(kind: type[list[object]] | type[tuple[object, ...]]) -> Callable[..., object]:
    def made(value: object = ()) -> object:
        if not isinstance(value, list | tuple | range):
            raise Unread(f"a {kind.__name__} of something")
        return kind(value)

    return made


def _real(function: Callable[[float], float]) -> Callable[[object], float]:
    def called(value: object) -> float:
        if not isinstance(value, int | float):
            raise Unread("a function of something")
        return function(value)

    return called


def _zip(*values: object) -> list[object]:
    if not all(isinstance(value, list | tuple | range) for value in values):
        raise Unread("`zip` of something")
    return list(zip(*values, strict=False))


def _enumerate(value: object) -> list[object]:
    return _zip(range(_LONGEST), value)


def _product(values: object) -> int:
    if not isinstance(values, list | tuple):
        raise Unread("the product of something")
    total: int = 1
    for value in values:
        total = integer(value) * total
    return total


BUILTINS: dict[str, Callable[..., object]] = {
    "len": _len,
    "range": _range,
    "int": _int,
    "float": _float,
    "bool": _real(bool),
    "abs": _real(abs),
    "max": _extreme(max),
    "min": _extreme(min),
    "list": _sequence(list),
    "tuple": _sequence(tuple),
    "zip": _zip,
    "enumerate": _enumerate,
    "math.sqrt": _real(math.sqrt),
    "math.log": _real(math.log),
    "math.log2": _real(math.log2),
    "math.exp": _real(math.exp),
    "math.ceil": _real(math.ceil),
    "math.floor": _real(math.floor),
    "math.prod": _product,
}
