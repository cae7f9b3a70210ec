"""Recurrent layers of `torch.nn`: parameters as PyTorch names them, and the shapes of results and states."""

from __future__ import annotations

from typing import TYPE_CHECKING

from search.formats.shapes.values import Array, Layer, Unread, integer, tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
_MOST_LAYERS = 64


def recurrent(kind: str) -> Callable[..., Layer]:
    """The constructor of a kind of layer."""

    def made(  # noqa: PLR0913 - the arguments of PyTorch
        input_size: object,
        hidden_size: object,
        num_layers: object = 1,
        bias: object = True,
        batch_first: object = False,
        dropout: object = 0.0,
        bidirectional: object = False,
    ) -> Layer:
        if dropout:
            raise Unread("dropout inside a recurrent layer")
        width, depth = integer(hidden_size), int(integer(num_layers))
        if not 0 < depth <= _MOST_LAYERS:
            raise Unread(f"{depth} recurrent layers")
        ways = 2 if bidirectional else 1
        settings: dict[str, object] = {
            "width": width,
            "depth": depth,
            "ways": ways,
            "batch_first": bool(batch_first),
        }
        held: dict[str, Array] = {}
        for level in range(depth):
            entering = width * ways if level else integer(input_size)
            for ending in ("", "_reverse")[:ways]:
                held |= _weights(f"l{level}{ending}", _GATES[kind] * width, entering, width, bias=bool(bias))
        return Layer(kind, held, settings=settings)

    return made


def _weights(suffix: str, rows: int, entering: int, width: int, *, bias: bool) -> dict[str, Array]:
    made = {f"weight_ih_{suffix}": Array((rows, entering)), f"weight_hh_{suffix}": Array((rows, width))}
    if bias:
        made |= {f"bias_ih_{suffix}": Array((rows,)), f"bias_hh_{suffix}": Array((rows,))}
    return made


def call(layer: Layer, value: object, *_: object) -> object:
    """Results of all steps, and the last state; an LSTM has two of them."""
    given = tensor(value)
    if len(given.shape) != 3:
        raise Unread("a recurrent layer without a batch")
    width, ways = integer(layer.settings["width"]), integer(layer.settings["ways"])
    batch = given.shape[0 if layer.settings["batch_first"] else 1]
    state = _state(given, [integer(layer.settings["depth"]) * ways, batch, width])
    results = given.shaped((*given.shape[:2], width * ways))
    return results, ((state, _state(given, state.shape)) if layer.kind == "LSTM" else state)


def _state(value: Array, shape: Sequence[int]) -> Array:
    return value.shaped(shape)
