"""What functions of `torch` and `torch.nn.functional` make of shapes and types. Methods of tensors use them too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.formats.shapes import creation, windows
from search.formats.shapes.creation import dtype_of, sizes
from search.formats.shapes.operators import product
from search.formats.shapes.values import (
    Array,
    Layer,
    Unread,
    axis,
    broadcast,
    integer,
    promoted,
    tensor,
)
from search.workload import DType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


# Element by element --------------------------------------------------------------------------------------


def same(value: object, *_: object, **named: object) -> Array:
    """Shape and type stay; `dtype` changes the type."""
    given = tensor(value)
    return given.typed(dtype_of(named.get("dtype"), given.dtype))


def _real(value: object, *_: object, **__: object) -> Array:
    given = tensor(value)
    return given.shaped(given.shape) if given.dtype.is_float else given.typed(DType.FLOAT32)


def _both(left: object, right: object = None, *_: object, **__: object) -> Array:
    other = right if isinstance(right, Array | int | float) else None
    shapes = [value.shape for value in (left, other) if isinstance(value, Array)]
    return Array(broadcast(*shapes), promoted(left, 0 if other is None else other))


def _divided(left: object, right: object, *_: object, **named: object) -> Array:
    made = _both(left, right)
    whole = made.dtype.is_float or named.get("rounding_mode") == "floor"
    return made if whole else made.typed(DType.FLOAT32)


def _compared(left: object, right: object = None) -> Array:
    return _both(left, right).typed(DType.BOOL)


def _where(test: object, left: object, right: object) -> Array:
    shapes = [value.shape for value in (test, left, right) if isinstance(value, Array)]
    return Array(broadcast(*shapes), promoted(left, right))


def _addcmul(value: object, left: object, right: object, **_: object) -> Array:
    return _both(value, _both(left, right))


# Reductions ----------------------------------------------------------------------------------------------


def _kept(shape: Sequence[int], dim: object, *, keep: bool) -> list[int]:
    if dim is None:
        return [1] * len(shape) if keep else []
    dims = dim if isinstance(dim, list | tuple) else [dim]
    gone = {axis(one, len(shape)) for one in dims}
    found = [(1 if place in gone else size) for place, size in enumerate(shape)]
    return found if keep else [size for place, size in enumerate(found) if place not in gone]


def _reduced(result: Callable[[DType], DType]) -> Callable[..., object]:
    def reduce(value: object, dim: object = None, keepdim: object = False, **named: object) -> Array:
        given = tensor(value)
        dim = named.get("axis", dim)
        kind = dtype_of(named.get("dtype"), result(given.dtype))
        return Array(tuple(_kept(given.shape, dim, keep=bool(keepdim))), kind)

    return reduce


def _counted(dtype: DType) -> DType:
    return dtype if dtype.is_float else DType.INT64


def _norm(value: object, p: object = 2, dim: object = None, keepdim: object = False, **_: object) -> Array:
    given = tensor(value)
    return Array(tuple(_kept(given.shape, dim, keep=bool(keepdim))), given.dtype)


def _vector_norm(
    value: object, ord: object = 2, dim: object = None, keepdim: object = False, **_: object
) -> Array:
    return _norm(value, ord, dim, keepdim)


def _extreme(value: object, dim: object = None, keepdim: object = False, **_: object) -> object:
    """The largest of all, of each row with its place, or of two tensors."""
    given = tensor(value)
    if isinstance(dim, Array):
        return _both(given, dim)
    if dim is None:
        return given.shaped(())
    shape = _kept(given.shape, dim, keep=bool(keepdim))
    return given.shaped(shape), Array(tuple(shape), DType.INT64)


def _topk(value: object, k: object, dim: object = -1, **_: object) -> object:
    given = tensor(value)
    shape = list(given.shape)
    shape[axis(dim, len(shape))] = integer(k)
    return given.shaped(shape), Array(tuple(shape), DType.INT64)


def _sort(value: object, *_: object, **__: object) -> object:
    given = tensor(value)
    return given.shaped(given.shape), given.typed(DType.INT64)


def _places(value: object, *_: object, **__: object) -> Array:
    return tensor(value).typed(DType.INT64)


def _running(value: object, *_: object, **named: object) -> Array:
    given = tensor(value)
    return given.typed(dtype_of(named.get("dtype"), _counted(given.dtype)))


# Products ------------------------------------------------------------------------------------------------


def _matmul(left: object, right: object, **_: object) -> Array:
    a, b = tensor(left), tensor(right)
    if a.dtype is not b.dtype:
        raise Unread(f"a product of {a.dtype} and {b.dtype}")
    return Array(product(a.shape, b.shape), a.dtype)


def _addmm(value: object, left: object, right: object, **_: object) -> Array:
    return _both(value, _matmul(left, right))


def _outer(left: object, right: object) -> Array:
    return Array((*tensor(left).shape, *tensor(right).shape), promoted(left, right))


def _linear(value: object, weight: object, bias: object = None) -> Array:
    given, held = tensor(value), tensor(weight)
    if given.shape[-1] != held.shape[-1] or given.dtype is not held.dtype:
        raise Unread("a linear layer that does not fit")
    return given.shaped((*given.shape[:-1], *held.shape[:-1]))


def _einsum(text: object, *operands: object) -> Array:
    if not isinstance(text, str) or text.count("->") != 1:
        raise Unread("an einsum without an arrow")
    left, right = (part.replace(" ", "") for part in text.split("->"))
    arrays = [tensor(one) for one in (operands[0] if isinstance(operands[0], list | tuple) else operands)]
    known: dict[str, int] = {}
    dots: list[tuple[int, ...]] = []
    for letters, array in zip(left.split(","), arrays, strict=True):
        before, _, after = letters.partition("...")
        middle = len(array.shape) - len(before) - len(after)
        dots.append(array.shape[len(before) : len(before) + middle] if "..." in letters else ())
        ends = [*array.shape[: len(before)], *array.shape[len(before) + middle :]]
        if middle and "..." not in letters:
            raise Unread("an einsum that does not fit")
        known |= zip(before + after, ends, strict=True)
    before, _, after = right.partition("...")
    spread = broadcast(*dots) if "..." in right else ()
    shape = (*(known[one] for one in before), *spread, *(known[one] for one in after))
    return Array(shape, arrays[0].dtype)


def _diagonal(value: object, *_: object) -> Array:
    given = tensor(value)
    if len(given.shape) == 1:
        return given.shaped((given.shape[0], given.shape[0]))
    return given.shaped((given.shape[0] if given.shape[0] <= given.shape[1] else given.shape[1],))


def _attention(query: object, key: object, value: object, *_: object, **__: object) -> Array:
    return tensor(query).shaped((*tensor(query).shape[:-1], tensor(value).shape[-1]))


# Shapes --------------------------------------------------------------------------------------------------


def _cat(parts: object, dim: object = 0, **named: object) -> Array:
    arrays = [tensor(part) for part in parts] if isinstance(parts, list | tuple) else []
    place = axis(named.get("axis", dim), len(arrays[0].shape))
    total: int = 0
    for array in arrays:
        total = array.shape[place] + total
    shape = [*arrays[0].shape[:place], total, *arrays[0].shape[place + 1 :]]
    return arrays[0].shaped(shape)


def _stack(parts: object, dim: object = 0) -> Array:
    arrays = [tensor(part) for part in parts] if isinstance(parts, list | tuple) else []
    shape = list(arrays[0].shape)
    shape.insert(axis(dim, len(shape) + 1), len(arrays))
    return arrays[0].shaped(shape)


def _pad(value: object, pad: object, *_: object, **__: object) -> Array:
    given, widths = tensor(value), sizes(pad)
    shape = list(given.shape)
    for place in range(len(widths) // 2):
        shape[-1 - place] = shape[-1 - place] + widths[2 * place] + widths[2 * place + 1]
    return given.shaped(shape)


def _embedding(index: object, weight: object, *_: object, **__: object) -> Array:
    return tensor(weight).shaped((*tensor(index).shape, *tensor(weight).shape[1:]))


def _one_hot(index: object, num_classes: object) -> Array:
    return Array((*tensor(index).shape, integer(num_classes)), DType.INT64)


def _loss(value: object, *_: object, **named: object) -> Array:
    if named.get("reduction", "mean") == "none":
        raise Unread("a loss that is not reduced")
    return tensor(value).shaped(())


def _repeated(value: object, times: object, dim: object = None, **_: object) -> Array:
    given = tensor(value)
    if isinstance(times, Array):
        raise Unread("repetition by a tensor")
    if dim is None:
        return given.shaped((given.count * integer(times),))
    place = axis(dim, len(given.shape))
    shape = list(given.shape)
    shape[place] = shape[place] * integer(times)
    return given.shaped(shape)


def _gathered(value: object, dim: object, index: object, *_: object, **__: object) -> Array:
    return tensor(value).shaped(tensor(index).shape)


def _selected(value: object, dim: object, index: object) -> Array:
    given = tensor(value)
    place = axis(dim, len(given.shape))
    return given.shaped([*given.shape[:place], *tensor(index).shape, *given.shape[place + 1 :]])


def _normalized(value: object, p: object = 2, dim: object = 1, **_: object) -> Array:
    return same(value)


def _dropout(value: object, *_: object, **__: object) -> Array:
    raise Unread("dropout by a function, which would make every result another one")


def parameter(data: object, **_: object) -> Layer:
    """`nn.Parameter`, until it is given a name."""
    held = tensor(data)
    return Layer("Parameter", {"data": Array(held.shape, held.dtype)})


def _words(text: str) -> list[str]:
    return text.split()


_SAME = _words(
    """
    relu relu6 abs neg clamp clip clone detach sign square floor ceil round flip triu tril nan_to_num
    leaky_relu elu selu gelu silu mish softplus softsign hardtanh hardswish hardsigmoid logsigmoid
    softmin softmax log_softmax relu_ fill_ zero_ clamp_ masked_fill masked_fill_ roll renorm threshold
    hardshrink softshrink tanhshrink celu contiguous layer_norm rms_norm group_norm batch_norm
    instance_norm local_response_norm scatter scatter_ scatter_add scatter_add_ index_add index_add_
    index_copy
    """
)
_REAL = _words(
    """
    exp log log2 log10 log1p expm1 sqrt rsqrt sin cos tan tanh sigmoid erf erfc reciprocal atan asin acos
    sinh cosh
    """
)
_BOTH = _words(
    """
    add sub mul pow maximum minimum fmod remainder floor_divide subtract multiply atan2
    """
)
_COMPARED = _words(
    """
    eq ne lt le gt ge logical_and logical_or logical_xor
    """
)
_LOSSES = _words(
    """
    cross_entropy mse_loss l1_loss smooth_l1_loss huber_loss nll_loss kl_div binary_cross_entropy
    binary_cross_entropy_with_logits hinge_embedding_loss triplet_margin_loss cosine_embedding_loss
    """
)

_PLAIN: dict[str, Callable[..., object]] = (
    dict.fromkeys(_SAME, same)
    | dict.fromkeys(_REAL, _real)
    | dict.fromkeys(_BOTH, _both)
    | dict.fromkeys(_COMPARED, _compared)
    | dict.fromkeys(_LOSSES, _loss)
    | dict.fromkeys(("div", "true_divide", "divide"), _divided)
    | dict.fromkeys(("matmul", "mm", "bmm", "mv", "dot"), _matmul)
    | dict.fromkeys(("sum", "prod"), _reduced(_counted))
    | dict.fromkeys(("mean", "var", "std", "logsumexp", "amax", "amin"), _reduced(lambda dtype: dtype))
    | dict.fromkeys(("argmax", "argmin", "count_nonzero"), _reduced(lambda _: DType.INT64))
    | dict.fromkeys(("any", "all"), _reduced(lambda _: DType.BOOL))
    | dict.fromkeys(("max", "min"), _extreme)
    | dict.fromkeys(("cumsum", "cumprod"), _running)
    | dict.fromkeys(("cat", "concat", "concatenate"), _cat)
    | {
        "where": _where,
        "addcmul": _addcmul,
        "addmm": _addmm,
        "baddbmm": _addmm,
        "outer": _outer,
        "diag": _diagonal,
        "linear": _linear,
        "einsum": _einsum,
        "norm": _norm,
        "topk": _topk,
        "sort": _sort,
        "argsort": _places,
        "stack": _stack,
        "pad": _pad,
        "embedding": _embedding,
        "one_hot": _one_hot,
        "normalize": _normalized,
        "repeat_interleave": _repeated,
        "gather": _gathered,
        "index_select": _selected,
        "scaled_dot_product_attention": _attention,
        "dropout": _dropout,
    }
    | creation.FUNCTIONS
    | windows.FUNCTIONS
)

FUNCTIONS: dict[str, Callable[..., object]] = (
    {f"torch.{name}": rule for name, rule in _PLAIN.items()}
    | {f"torch.nn.functional.{name}": rule for name, rule in _PLAIN.items()}
    | {"torch.linalg.norm": _vector_norm, "torch.linalg.vector_norm": _vector_norm}
    | {"torch.nn.Parameter": parameter}
)
"""By dotted name."""
