"""Layers of `torch.nn`: their parameters by name, and what they make of shapes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from search.formats.shapes import recurrent, windows
from search.formats.shapes.creation import sizes
from search.formats.shapes.functions import FUNCTIONS, parameter, same
from search.formats.shapes.methods import METHODS
from search.formats.shapes.values import Array, Layer, Unread, integer, tensor
from search.workload import DType

if TYPE_CHECKING:
    from collections.abc import Callable


def _type(named: dict[str, object]) -> DType:
    dtype = named.get("dtype")
    return dtype if isinstance(dtype, DType) else DType.FLOAT32


def _weights(named: dict[str, object], weight: tuple[int, ...], bias: int | None) -> dict[str, Array]:
    made = {"weight": Array(weight, _type(named))}
    return made if bias is None else made | {"bias": Array((bias,), _type(named))}


def _linear(in_features: object, out_features: object, bias: object = True, **named: object) -> Layer:
    rows = integer(out_features)
    return Layer("Linear", _weights(named, (rows, integer(in_features)), rows if bias else None))


def _conv(  # noqa: PLR0913 - the arguments of PyTorch
    rank: int,
    in_channels: object,
    out_channels: object,
    kernel_size: object,
    stride: object = 1,
    padding: object = 0,
    dilation: object = 1,
    groups: object = 1,
    bias: object = True,
    **named: object,
) -> Layer:
    window = windows.each(kernel_size, rank)
    channels = integer(out_channels)
    weight = (channels, integer(in_channels) // integer(groups), *window)
    settings: dict[str, object] = {"stride": stride, "padding": padding, "dilation": dilation}
    return Layer("Conv", _weights(named, weight, channels if bias else None), settings=settings)


def _conv_transpose(  # noqa: PLR0913 - the arguments of PyTorch
    rank: int,
    in_channels: object,
    out_channels: object,
    kernel_size: object,
    stride: object = 1,
    padding: object = 0,
    output_padding: object = 0,
    groups: object = 1,
    bias: object = True,
    dilation: object = 1,
    **named: object,
) -> Layer:
    window = windows.each(kernel_size, rank)
    channels = integer(out_channels)
    weight = (integer(in_channels), channels // integer(groups), *window)
    settings: dict[str, object] = {"stride": stride, "padding": padding, "extra": output_padding}
    settings |= {"dilation": dilation, "channels": channels}
    return Layer("ConvTranspose", _weights(named, weight, channels if bias else None), settings=settings)


def _norm(kind: str) -> Callable[..., Layer]:
    def made(
        normalized_shape: object,
        *_: object,
        elementwise_affine: object = True,
        bias: object = True,
        **named: object,
    ) -> Layer:
        shape = sizes(normalized_shape)
        held: dict[str, Array] = {}
        if elementwise_affine:
            held["weight"] = Array(shape, _type(named))
            if bias and kind == "LayerNorm":
                held["bias"] = Array(shape, _type(named))
        return Layer(kind, held)

    return made


def _group_norm(
    num_groups: object, num_channels: object, *_: object, affine: object = True, **named: object
) -> Layer:
    count = integer(num_channels)
    return Layer("GroupNorm", _weights(named, (count,), count) if affine else {})


def _batch_norm(
    num_features: object, eps: object = 1e-5, momentum: object = 0.1, affine: object = True, **named: object
) -> Layer:
    count = integer(num_features)
    return Layer("BatchNorm", _weights(named, (count,), count) if affine else {})


def _instance_norm(
    num_features: object, eps: object = 1e-5, momentum: object = 0.1, affine: object = False, **named: object
) -> Layer:
    return _batch_norm(num_features, eps, momentum, affine, **named)


def _embedding(num_embeddings: object, embedding_dim: object, *_: object, **named: object) -> Layer:
    return Layer(
        "Embedding", {"weight": Array((integer(num_embeddings), integer(embedding_dim)), _type(named))}
    )


def _multihead(
    embed_dim: object,
    num_heads: object,
    dropout: object = 0.0,
    bias: object = True,
    *,
    batch_first: object = False,
) -> Layer:
    if dropout:
        raise Unread("dropout inside an attention layer")
    width = integer(embed_dim)
    held = {"in_proj_weight": Array((3 * width, width))}
    inner = {"weight": Array((width, width))}
    if bias:
        held["in_proj_bias"] = Array((3 * width,))
        inner["bias"] = Array((width,))
    settings: dict[str, object] = {"batch_first": bool(batch_first)}
    return Layer("MultiheadAttention", held, inner={"out_proj": Layer("Linear", inner)}, settings=settings)


def _sequential(*layers: object) -> Layer:
    return Layer("Sequential", inner=_numbered(list(layers)))


def _module_list(layers: object = ()) -> Layer:
    return Layer(
        "ModuleList", inner=_numbered(list(layers) if isinstance(layers, list | tuple) else [layers])
    )


def _numbered(layers: list[object]) -> dict[str, Layer]:
    made = {}
    for place, layer in enumerate(layers):
        if not isinstance(layer, Layer):
            raise Unread("a layer that is none")
        made[str(place)] = layer
    return made


def _plain(kind: str) -> Callable[..., Layer]:
    """A layer without parameters that keeps shape and type."""
    return lambda *_, **named: Layer(kind, settings={"inplace": bool(named.get("inplace"))})


def _held(kind: str, *names: str) -> Callable[..., Layer]:
    """A layer without parameters that passes its settings to a function of the same arguments."""

    def made(*given: object, **named: object) -> Layer:
        return Layer(kind, settings=dict(zip(names, given, strict=False)) | named)

    return made


# Calls ---------------------------------------------------------------------------------------------------


def apply(layer: Layer, *given: object, **named: object) -> object:
    """What a layer of `torch.nn` makes of its arguments.

    Raises:
        Unread: no rule is known.
    """
    if layer.kind in FUNCTIONS:
        return FUNCTIONS[layer.kind](*given, **layer.settings, **named)
    rule = _CALLS.get(layer.kind)
    if rule is None:
        raise Unread(f"a call of a {layer.kind}")
    return rule(layer, *given)


def _call_linear(layer: Layer, value: object) -> object:
    return FUNCTIONS["torch.nn.functional.linear"](value, layer.parameters["weight"])


def _call_conv(layer: Layer, value: object) -> object:
    weight = layer.parameters["weight"].shape
    held = layer.settings
    return windows.convolved(
        tensor(value), weight[0], weight[2:], held["stride"], held["padding"], held["dilation"]
    )


def _call_transposed(layer: Layer, value: object) -> object:
    held = layer.settings
    window = layer.parameters["weight"].shape[2:]
    return windows.transposed(
        tensor(value),
        integer(held["channels"]),
        window,
        held["stride"],
        held["padding"],
        held["extra"],
        held["dilation"],
    )


def _call_embedding(layer: Layer, value: object) -> object:
    return FUNCTIONS["torch.nn.functional.embedding"](value, layer.parameters["weight"])


def _call_multihead(layer: Layer, query: object, key: object, value: object) -> object:
    asked, given = tensor(query), tensor(key)
    if len(asked.shape) != 3:
        raise Unread("attention without a batch")
    batch, length = (0, 1) if layer.settings["batch_first"] else (1, 0)
    scores = asked.shaped((asked.shape[batch], asked.shape[length], given.shape[length]))
    return asked.shaped(asked.shape), scores


def _call_flatten(layer: Layer, value: object) -> object:
    return METHODS["flatten"](tensor(value), **({"start_dim": 1} | layer.settings))


def _call_same(layer: Layer, value: object) -> object:
    return same(value)


_CALLS: dict[str, Callable[..., object]] = {
    "Linear": _call_linear,
    "Conv": _call_conv,
    "ConvTranspose": _call_transposed,
    "Embedding": _call_embedding,
    "Flatten": _call_flatten,
    "MultiheadAttention": _call_multihead,
    "LSTM": recurrent.call,
    "GRU": recurrent.call,
    "RNN": recurrent.call,
}
_CALLS |= dict.fromkeys(("LayerNorm", "RMSNorm", "GroupNorm", "BatchNorm", "Dropout", "Same"), _call_same)

_SAME = [
    "ReLU",
    "ReLU6",
    "GELU",
    "SiLU",
    "Mish",
    "Sigmoid",
    "Tanh",
    "Softplus",
    "Softsign",
    "LeakyReLU",
    "ELU",
    "SELU",
    "CELU",
    "Hardtanh",
    "Hardswish",
    "Hardsigmoid",
    "LogSigmoid",
    "Softmax",
    "LogSoftmax",
    "Softmin",
    "Identity",
    "Tanhshrink",
    "Hardshrink",
    "Softshrink",
]
_DROPOUT = ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout")

_LOSSES = {
    "CrossEntropyLoss": "cross_entropy",
    "MSELoss": "mse_loss",
    "L1Loss": "l1_loss",
    "SmoothL1Loss": "smooth_l1_loss",
    "HuberLoss": "huber_loss",
    "NLLLoss": "nll_loss",
    "KLDivLoss": "kl_div",
    "BCELoss": "binary_cross_entropy",
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
    "TripletMarginLoss": "triplet_margin_loss",
}
_LAYERS: dict[str, Callable[..., Layer]] = (
    dict.fromkeys(_SAME, _plain("Same"))
    | dict.fromkeys(_DROPOUT, _plain("Dropout"))
    | {
        "Linear": _linear,
        "LayerNorm": _norm("LayerNorm"),
        "RMSNorm": _norm("RMSNorm"),
        "GroupNorm": _group_norm,
        "Embedding": _embedding,
        "Sequential": _sequential,
        "ModuleList": _module_list,
        "Flatten": _held("Flatten", "start_dim", "end_dim"),
        "Parameter": parameter,
        "MultiheadAttention": _multihead,
        "LSTM": recurrent.recurrent("LSTM"),
        "GRU": recurrent.recurrent("GRU"),
        "RNN": recurrent.recurrent("RNN"),
    }
    | {name: _held(f"torch.nn.functional.{function}") for name, function in _LOSSES.items()}
)
for _rank in (1, 2, 3):
    _pool = f"torch.nn.functional.{{}}_pool{_rank}d"
    _of_rank: dict[str, Callable[..., Layer]] = {
        f"Conv{_rank}d": partial(_conv, _rank),
        f"ConvTranspose{_rank}d": partial(_conv_transpose, _rank),
        f"BatchNorm{_rank}d": _batch_norm,
        f"InstanceNorm{_rank}d": _instance_norm,
        f"MaxPool{_rank}d": _held(_pool.format("max"), "kernel_size", "stride", "padding", "dilation"),
        f"AvgPool{_rank}d": _held(_pool.format("avg"), "kernel_size", "stride", "padding"),
        f"AdaptiveAvgPool{_rank}d": _held(_pool.format("adaptive_avg"), "output_size"),
        f"AdaptiveMaxPool{_rank}d": _held(_pool.format("adaptive_max"), "output_size"),
    }
    _LAYERS |= _of_rank

LAYERS: dict[str, Callable[..., Layer]] = {f"torch.nn.{name}": make for name, make in _LAYERS.items()}
"""By dotted name; each takes the arguments of its constructor."""
