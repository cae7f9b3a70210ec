"""Values of a program that is read and not run: sizes with their formula, tensors without elements."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from search.workload import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from search.workload import RandomInput

LARGEST = 1 << 40
_LONGEST_FORMULA = 300
DEEPEST = 16
"""Most dimensions of a tensor."""


class Unread(Exception):
    """Something that cannot be known without running the program; `line` is 1-based, None until it is known."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        """Say what, and where if that is known."""
        super().__init__(problem)
        self.problem = problem
        self.line = line


class Size(int):
    """A whole number that came from a named one: `base + offset`, where `base` is a formula over names."""

    base: str
    offset: int

    def __new__(cls, value: int, base: str, offset: int = 0) -> Size:
        """A number with its formula."""
        made = super().__new__(cls, value)
        made.base = base
        made.offset = offset
        return made

    @property
    def text(self) -> str:
        """The formula, in brackets unless it is a name."""
        if not self.offset:
            return self.base
        return f"({self.base} {'+' if self.offset > 0 else '-'} {abs(self.offset)})"

    @property
    def is_name(self) -> bool:
        """Whether the formula is a name alone."""
        return not self.offset and self.base.isidentifier()

    def __add__(self, other: int) -> int:
        value = int(self) + int(other)
        if not isinstance(other, Size):
            return sized(value, self.base, self.offset + other)
        return sized(value, f"({self.text} + {other.text})")

    def __radd__(self, other: int) -> int:
        return self + other

    def __sub__(self, other: int) -> int:
        if not isinstance(other, Size):
            return self + -other
        if other.base == self.base:
            return self.offset - other.offset
        return sized(int(self) - int(other), f"({self.text} - {other.text})")

    def __rsub__(self, other: int) -> int:
        return sized(int(other) - int(self), f"({other} - {self.text})")

    def __mul__(self, other: int) -> int:
        if other == 1 and not isinstance(other, Size):
            return self
        return sized(int(self) * int(other), f"({self.text} * {text_of(other)})")

    def __rmul__(self, other: int) -> int:
        return self * other

    def __floordiv__(self, other: int) -> int:
        if other == 0:
            raise Unread("a division by zero")
        if other == 1 and not isinstance(other, Size):
            return self
        return sized(int(self) // int(other), f"({self.text} // {text_of(other)})")

    def __rfloordiv__(self, other: int) -> int:
        if self == 0:
            raise Unread("a division by zero")
        return sized(int(other) // int(self), f"({other} // {self.text})")

    def __mod__(self, other: int) -> int:
        if other == 0:
            raise Unread("a division by zero")
        return sized(int(self) % int(other), f"({self.text} % {text_of(other)})")

    def __neg__(self) -> int:
        return 0 - self


def sized(value: int, base: str, offset: int = 0) -> int:
    """A number with its formula, or without where that is long: repeated doubling would fill the memory."""
    return value if len(base) > _LONGEST_FORMULA else Size(value, base, offset)


def text_of(size: int) -> str:
    """Formula of a size; plain numbers are their own."""
    return size.text if isinstance(size, Size) else str(int(size))


@dataclass(frozen=True, eq=False)
class Array:
    """A tensor of which shape and type are known; equal only to itself, since a program may write into it."""

    shape: tuple[int, ...]
    dtype: DType = DType.FLOAT32
    drawn: RandomInput | None = None
    """How it is drawn, for one that came straight from a random function."""
    where: Array | None = None
    """The tensor that this one is a view of, or was written into."""

    def __post_init__(self) -> None:
        """Refuse what cannot be a tensor.

        Raises:
            Unread: a negative size, or far too large.
        """
        if len(self.shape) > DEEPEST or any(not 0 <= int(size) <= LARGEST for size in self.shape):
            raise Unread(f"the shape {tuple(int(size) for size in self.shape[:DEEPEST])}")

    def shaped(self, shape: Sequence[int]) -> Array:
        """Another shape of the same type."""
        return Array(tuple(shape), self.dtype)

    def typed(self, dtype: DType) -> Array:
        """The same shape of another type."""
        return Array(self.shape, dtype)

    def view(self, shape: Sequence[int]) -> Array:
        """The same memory seen in another shape."""
        return Array(tuple(shape), self.dtype, where=self.origin)

    def kept(self) -> Array:
        """The same values, of which it is no longer known how they were drawn."""
        return replace(self, drawn=None, where=self.origin)

    @property
    def origin(self) -> Array:
        """The tensor whose memory this is."""
        return self.where or self

    @property
    def count(self) -> int:
        """Number of elements."""
        total: int = 1
        for size in self.shape:
            total = size * total
        return total


@dataclass(frozen=True)
class Word:
    """A dotted name of a known module, such as `torch.nn.functional.relu`."""

    name: str


@dataclass
class Layer:
    """A `torch.nn` layer, or an instance of a class of the file: parameters, buffers and inner layers by name."""

    kind: str
    parameters: dict[str, Array] = field(default_factory=dict)
    buffers: dict[str, Array] = field(default_factory=dict)
    inner: dict[str, Layer] = field(default_factory=dict)
    settings: dict[str, object] = field(default_factory=dict)

    def weights(self, prefix: str = "", depth: int = 0) -> dict[str, Array]:
        """Parameters by dotted path, in the order in which they were registered.

        Raises:
            Unread: layers nest too deep.
        """
        if depth > DEEPEST:
            raise Unread("layers that nest too deep")
        found = {prefix + name: array for name, array in self.parameters.items()}
        for name, layer in self.inner.items():
            found |= layer.weights(f"{prefix}{name}.", depth + 1)
        return {path: array for path, array in found.items() if path == _first(found, array)}


def _first(found: dict[str, Array], array: Array) -> str:
    """Path under which a weight that is shared was seen first."""
    return next(path for path, other in found.items() if other is array)


def integer(value: object) -> int:
    """The value as a whole number.

    Raises:
        Unread: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise Unread("a size that is no whole number")
    return value


def tensor(value: object) -> Array:
    """The value as a tensor.

    Raises:
        Unread: it is none.
    """
    if not isinstance(value, Array):
        raise Unread("a value that is no tensor where one is needed")
    return value


def axis(dim: object, rank: int) -> int:
    """A dimension counted from the front.

    Raises:
        Unread: there is no such dimension.
    """
    index = integer(dim)
    if not -rank <= index < max(rank, 1):
        raise Unread(f"dimension {index} of a tensor with {rank}")
    return int(index) % max(rank, 1)


def broadcast(*shapes: Sequence[int]) -> tuple[int, ...]:
    """Common shape of several; a size with a formula is preferred to a plain one.

    Raises:
        Unread: they do not fit.
    """
    rank = max((len(shape) for shape in shapes), default=0)
    found: list[int] = []
    for index in range(-rank, 0):
        sizes = [shape[index] for shape in shapes if len(shape) >= -index]
        wide = [size for size in sizes if size != 1] or sizes
        if len({int(size) for size in wide}) > 1:
            raise Unread("shapes that do not fit together")
        named = [size for size in wide if isinstance(size, Size)]
        found.append((named or wide)[0])
    return tuple(found)


_RANK = (DType.BOOL, DType.UINT8, DType.INT8, DType.INT16, DType.INT32, DType.INT64)
_FLOATS = (DType.FLOAT32, DType.FLOAT64)


def promoted(left: Array | object, right: Array | object) -> DType:
    """Type of an element-wise result of tensors and numbers, as PyTorch has it.

    Raises:
        Unread: types of which the result is not plain.
    """
    arrays = sorted((v for v in (left, right) if isinstance(v, Array)), key=lambda v: not v.shape)
    if not arrays:
        raise Unread("arithmetic without a tensor")
    if len(arrays) == 2:
        return _of_two(arrays[0], arrays[1])
    number = right if arrays[0] is left else left
    dtype = arrays[0].dtype
    if isinstance(number, float) and not dtype.is_float:
        return DType.FLOAT32
    if dtype is DType.BOOL and isinstance(number, int) and not isinstance(number, bool):
        return DType.INT64
    return dtype


def _of_two(first: Array, second: Array) -> DType:
    one, two = first.dtype, second.dtype
    if one is two or (one.is_float and not two.is_float):
        return one
    if not one.is_float and not two.is_float:
        if first.shape and not second.shape and one is not DType.BOOL:
            return one
        return max(one, two, key=_RANK.index)
    if not one.is_float:
        return two
    if first.shape and not second.shape:
        return one
    if DType.FLOAT64 in (one, two):
        return DType.FLOAT64
    if "float8" in one or "float8" in two:
        raise Unread("arithmetic of float8 with another type")
    return DType.FLOAT32
