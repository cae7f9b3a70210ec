"""Shapes of convolutions and pooling: the number of places where a window fits along each axis."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from search.formats.shapes.values import Unread, integer, tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from search.formats.shapes.values import Array


def each(value: object, rank: int) -> list[int]:
    """One number for all axes, or one for each.

    Raises:
        Unread: it is neither.
    """
    parts = value if isinstance(value, list | tuple) else [value] * rank
    if len(parts) == 1:
        parts = [parts[0]] * rank
    if len(parts) != rank:
        raise Unread(f"{len(parts)} window sizes for {rank} axes")
    return [integer(part) for part in parts]


def fits(size: int, window: int, stride: int, padding: int, dilation: int) -> int:
    """Places of a window: floor((size + 2·padding - dilation·(window - 1) - 1) / stride) + 1 (PyTorch, `Conv2d`)."""
    if int(stride) < 1:
        raise Unread("a stride below one")
    return (size + 2 * padding - dilation * (window - 1) - 1) // stride + 1


def convolved(
    value: Array, channels: int, window: Sequence[int], stride: object, padding: object, dilation: object
) -> Array:
    """Shape after a convolution of `window`.

    Raises:
        Unread: the settings do not fit the tensor.
    """
    rank = len(window)
    places = value.shape[-rank:]
    if padding == "same":
        return value.shaped((*value.shape[: -rank - 1], channels, *places))
    pads = each(0 if padding == "valid" else padding, rank)
    settings = zip(places, window, each(stride, rank), pads, each(dilation, rank), strict=True)
    return value.shaped((*value.shape[: -rank - 1], channels, *(fits(*one) for one in settings)))


def transposed(  # noqa: PLR0913 - the arguments of PyTorch
    value: Array,
    channels: int,
    window: Sequence[int],
    stride: object,
    padding: object,
    extra: object,
    dilation: object,
) -> Array:
    """Shape after a transposed convolution (PyTorch, `ConvTranspose2d`)."""
    rank = len(window)
    settings = zip(
        value.shape[-rank:],
        window,
        each(stride, rank),
        each(padding, rank),
        each(extra, rank),
        each(dilation, rank),
        strict=True,
    )
    found = [(size - 1) * s - 2 * p + d * (k - 1) + e + 1 for size, k, s, p, e, d in settings]
    return value.shaped((*value.shape[: -rank - 1], channels, *found))


def pooled(  # noqa: PLR0913 - the arguments of PyTorch
    rank: int,
    value: object,
    kernel_size: object,
    stride: object = None,
    padding: object = 0,
    dilation: object = 1,
    ceil_mode: object = False,
    **_: object,
) -> Array:
    """Shape after pooling.

    Raises:
        Unread: windows that may hang over the edge.
    """
    given = tensor(value)
    if ceil_mode:
        raise Unread("pooling whose windows hang over the edge")
    window = each(kernel_size, rank)
    step = window if stride is None else each(stride, rank)
    return convolved(given, given.shape[-rank - 1], window, step, padding, dilation)


def averaged(
    rank: int,
    value: object,
    kernel_size: object,
    stride: object = None,
    padding: object = 0,
    ceil_mode: object = False,
    **_: object,
) -> Array:
    """Shape after average pooling, which has no dilation."""
    return pooled(rank, value, kernel_size, stride, padding, 1, ceil_mode)


def adaptive(rank: int, value: object, output_size: object) -> Array:
    """Shape after pooling to a given size."""
    given = tensor(value)
    return given.shaped((*given.shape[:-rank], *each(output_size, rank)))


def _conv(  # noqa: PLR0913 - the arguments of PyTorch
    rank: int,
    value: object,
    weight: object,
    bias: object = None,
    stride: object = 1,
    padding: object = 0,
    dilation: object = 1,
    groups: object = 1,
) -> Array:
    held = tensor(weight)
    return convolved(tensor(value), held.shape[0], held.shape[-rank:], stride, padding, dilation)


def _interpolated(value: object, size: object = None, scale_factor: object = None, **_: object) -> Array:
    given = tensor(value)
    rank = len(given.shape) - 2
    if size is not None:
        return given.shaped((*given.shape[:2], *each(size, rank)))
    if not isinstance(scale_factor, int):
        raise Unread("a scale that is no whole number")
    return given.shaped((*given.shape[:2], *(place * scale_factor for place in given.shape[2:])))


FUNCTIONS: dict[str, Callable[..., object]] = {"interpolate": _interpolated}
for _rank in (1, 2, 3):
    FUNCTIONS |= {
        f"conv{_rank}d": partial(_conv, _rank),
        f"max_pool{_rank}d": partial(pooled, _rank),
        f"avg_pool{_rank}d": partial(averaged, _rank),
        f"adaptive_avg_pool{_rank}d": partial(adaptive, _rank),
        f"adaptive_max_pool{_rank}d": partial(adaptive, _rank),
    }
