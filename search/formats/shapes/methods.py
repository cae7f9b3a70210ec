"""Methods and attributes of tensors that `torch` has no function of, or that are called in another way."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from search.formats.shapes.creation import sizes
from search.formats.shapes.functions import same
from search.formats.shapes.values import Array, Unread, axis, broadcast, integer, tensor
from search.workload import DType

if TYPE_CHECKING:
    from collections.abc import Callable


def attribute(value: Array, name: str) -> object:
    """An attribute that is no method; None where it is one."""
    match name:
        case "shape":
            return value.shape
        case "dtype":
            return value.dtype
        case "device" | "layout":
            return "cpu"
        case "ndim":
            return len(value.shape)
        case "data":
            return value
        case "T" | "mT":
            return _transpose(value, -2, -1) if len(value.shape) > 1 else value
        case "is_cuda" | "requires_grad":
            return False
    return None


def _reshape(value: Array, *given: object) -> Array:
    wanted = list(sizes(*given))
    if -1 in wanted:
        place = wanted.index(-1)
        known: int = 1
        for size in wanted[:place] + wanted[place + 1 :]:
            known = size * known
        if known == 0 or int(value.count) % int(known):
            raise Unread("a shape that does not fit")
        wanted[place] = _missing(value, wanted, known)
    total = 1
    for size in wanted:
        total *= int(size)
    if total != int(value.count):
        raise Unread(f"a shape of {total} elements for {int(value.count)}")
    return value.view(wanted)


def _missing(value: Array, wanted: list[int], known: int) -> int:
    """The size for -1: the axes beside those that the rest of the new shape is made of, where these stand together."""
    missing = int(value.count) // int(known)
    rank = len(value.shape)
    for start in range(rank + 1):
        for end in range(start, rank + 1):
            if math.prod(int(size) for size in value.shape[start:end]) == int(known):
                rest: int = 1
                for size in value.shape[:start] + value.shape[end:]:
                    rest = size * rest
                return rest
    left = list(value.shape)
    for size in wanted:
        if size in left:
            left.remove(size)
    rest = 1
    for size in left:
        rest = size * rest
    return rest if int(rest) == missing else value.count // known


def _transpose(value: Array, first: object, second: object) -> Array:
    shape = list(value.shape)
    one, two = axis(first, len(shape)), axis(second, len(shape))
    shape[one], shape[two] = shape[two], shape[one]
    return value.view(shape)


def _t(value: Array) -> Array:
    return _transpose(value, 0, 1)


def _permute(value: Array, *order: object) -> Array:
    places = [axis(one, len(value.shape)) for one in sizes(*order)]
    if sorted(places) != list(range(len(value.shape))):
        raise Unread("an order of dimensions that is none")
    return value.view([value.shape[place] for place in places])


def _flatten(value: Array, start_dim: object = 0, end_dim: object = -1) -> Array:
    first, last = axis(start_dim, len(value.shape)), axis(end_dim, len(value.shape))
    total: int = 1
    for size in value.shape[first : last + 1]:
        total = size * total
    return value.view([*value.shape[:first], total, *value.shape[last + 1 :]])


def _unsqueeze(value: Array, dim: object) -> Array:
    shape = list(value.shape)
    shape.insert(axis(dim, len(shape) + 1), 1)
    return value.view(shape)


def _squeeze(value: Array, dim: object = None) -> Array:
    gone = None if dim is None else axis(dim, len(value.shape))
    kept = [s for place, s in enumerate(value.shape) if s != 1 or (gone is not None and place != gone)]
    return value.view(kept)


def _expand(value: Array, *given: object) -> Array:
    wanted = list(sizes(*given))
    extra = len(wanted) - len(value.shape)
    shape = [value.shape[place - extra] if size == -1 else size for place, size in enumerate(wanted)]
    return value.view(broadcast(value.shape, shape))


def _expand_as(value: Array, other: object) -> Array:
    return value.view(broadcast(value.shape, tensor(other).shape))


def _repeat(value: Array, *given: object) -> Array:
    times = sizes(*given)
    shape = [1] * (len(times) - len(value.shape)) + list(value.shape)
    return value.shaped([size * time for size, time in zip(shape, times, strict=True)])


def _size(value: Array, dim: object = None) -> object:
    return value.shape if dim is None else value.shape[axis(dim, len(value.shape))]


def _to(value: Array, *given: object, **named: object) -> Array:
    for one in (*given, *named.values()):
        if isinstance(one, DType):
            return value.typed(one)
        if isinstance(one, Array):
            return value.typed(one.dtype)
    return value


def _cast(dtype: DType) -> Callable[..., object]:
    return lambda value: tensor(value).typed(dtype)


def _unchanged(value: Array, *_: object, **__: object) -> Array:
    return value


def _in_place(value: Array, *_: object, **__: object) -> Array:
    return value.kept()


def _narrow(value: Array, dim: object, start: object, length: object) -> Array:
    shape = list(value.shape)
    shape[axis(dim, len(shape))] = integer(length)
    return value.view(shape)


def _unfold(value: Array, dimension: object, size: object, step: object) -> Array:
    shape = list(value.shape)
    place = axis(dimension, len(shape))
    shape[place] = (shape[place] - integer(size)) // integer(step) + 1
    return value.view([*shape, integer(size)])


def _select(value: Array, dim: object, index: object) -> Array:
    place = axis(dim, len(value.shape))
    return value.view([*value.shape[:place], *value.shape[place + 1 :]])


def _chunk(value: Array, chunks: object, dim: object = 0) -> list[object]:
    place, count = axis(dim, len(value.shape)), int(integer(chunks))
    if count < 1 or int(value.shape[place]) % count:
        raise Unread("chunks of different lengths")
    return _split(value, value.shape[place] // count, place)


def _split(value: Array, size: object, dim: object = 0) -> list[object]:
    place = axis(dim, len(value.shape))
    whole = value.shape[place]
    if isinstance(size, list | tuple):
        lengths = [integer(one) for one in size]
    elif int(integer(size)) < 1 or int(whole) % int(integer(size)) or int(whole) // int(integer(size)) > 64:
        raise Unread("parts of different lengths")
    else:
        lengths = [integer(size)] * (int(whole) // int(integer(size)))
    if sum(int(one) for one in lengths) != int(whole):
        raise Unread("parts that do not fit")
    return [value.view([*value.shape[:place], one, *value.shape[place + 1 :]]) for one in lengths]


def _unbind(value: Array, dim: object = 0) -> list[object]:
    place = axis(dim, len(value.shape))
    if value.shape[place] > 64:
        raise Unread("many parts")
    rest = [*value.shape[:place], *value.shape[place + 1 :]]
    return [value.view(rest) for _ in range(int(value.shape[place]))]


def _of_type(value: Array, other: object) -> Array:
    return value.typed(other) if isinstance(other, DType) else value.typed(tensor(other).dtype)


def _new(value: Array, *given: object, dtype: object = None, **_: object) -> Array:
    return same(Array(sizes(*given), value.dtype), dtype=dtype)


METHODS: dict[str, Callable[..., object]] = (
    dict.fromkeys(("view", "reshape"), _reshape)
    | dict.fromkeys(("cuda", "cpu", "requires_grad_", "numpy", "contiguous"), _unchanged)
    | dict.fromkeys(
        [
            "add_",
            "sub_",
            "mul_",
            "div_",
            "relu_",
            "clamp_",
            "copy_",
            "fill_",
            "zero_",
            "normal_",
            "uniform_",
            "exp_",
            "masked_fill_",
        ],
        _in_place,
    )
    | dict.fromkeys(("new_zeros", "new_ones", "new_empty"), _new)
    | dict.fromkeys(("type", "type_as"), _of_type)
    | {
        "transpose": _transpose,
        "t": _t,
        "permute": _permute,
        "flatten": _flatten,
        "unsqueeze": _unsqueeze,
        "squeeze": _squeeze,
        "expand": _expand,
        "expand_as": _expand_as,
        "repeat": _repeat,
        "size": _size,
        "dim": lambda value: len(value.shape),
        "numel": lambda value: value.count,
        "to": _to,
        "float": _cast(DType.FLOAT32),
        "double": _cast(DType.FLOAT64),
        "half": _cast(DType.FLOAT16),
        "bfloat16": _cast(DType.BFLOAT16),
        "int": _cast(DType.INT32),
        "long": _cast(DType.INT64),
        "bool": _cast(DType.BOOL),
        "narrow": _narrow,
        "select": _select,
        "unfold": _unfold,
        "chunk": _chunk,
        "split": _split,
        "unbind": _unbind,
        "view_as": lambda value, other: _reshape(value, tensor(other).shape),
    }
)
"""By name; `torch.NAME` takes the same arguments where it exists."""

FLAT = {
    f"torch.{name}": rule
    for name, rule in METHODS.items()
    if name not in ("to", "float", "double", "half", "int")
}
