"""Things that a program names and that are no tensors or numbers: its functions, classes and methods."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from search.formats.shapes import operators
from search.formats.shapes.functions import FUNCTIONS
from search.formats.shapes.methods import METHODS
from search.formats.shapes.values import Array, Layer, Unread, Word

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LONGEST_LOOP = 512

Scope = dict[str, object]


@dataclass(frozen=True)
class Function:
    """A function of the file, or a method with the layer that it belongs to."""

    node: ast.FunctionDef
    owner: Layer | None = None


@dataclass(frozen=True)
class Class:
    """A class of the file."""

    node: ast.ClassDef


@dataclass(frozen=True)
class Bound:
    """A method of a tensor or of a list, not called yet."""

    value: object
    name: str


def call_method(value: object, name: str, given: Sequence[object], named: Mapping[str, object]) -> object:
    """What a method of a tensor, layer, list or dictionary returns.

    Raises:
        Unread: it is not known.
    """
    if isinstance(value, Layer):
        return _register(value, name, given, named)
    try:
        if isinstance(value, Array):
            if name in METHODS:
                return METHODS[name](value, *given, **named)
            for prefix in ("torch.", "torch.nn.functional."):
                if prefix + name in FUNCTIONS:
                    return FUNCTIONS[prefix + name](value, *given, **named)
        if isinstance(value, list) and name == "append":
            value.append(*given)
            return None
        if isinstance(value, dict) and name in ("keys", "values", "items", "get"):
            found = getattr(value, name)(*given)
            return found if name == "get" else list(found)
    except (TypeError, ValueError, IndexError) as error:
        raise Unread(f"this use of `.{name}`") from error
    raise Unread(f"`.{name}`")


def _register(layer: Layer, name: str, given: Sequence[object], named: Mapping[str, object]) -> object:
    if name in ("to", "eval", "train"):
        return layer
    key, value = (*given, *named.values())[:2]
    if not isinstance(key, str) or not isinstance(value, Array):
        raise Unread(f"this use of `.{name}`")
    (layer.buffers if name == "register_buffer" else layer.parameters)[key] = value
    return None


def set_member(owner: object, name: str, value: object) -> None:
    """`owner.name = value`: parameters, inner layers, or a setting of a layer.

    Raises:
        Unread: the owner is no layer.
    """
    if not isinstance(owner, Layer):
        raise Unread(f"an assignment to `.{name}`")
    match value:
        case Layer(kind="Parameter", parameters=held):
            owner.parameters[name] = held["data"]
        case Layer():
            owner.inner[name] = value
        case Array() if name in owner.parameters:
            owner.parameters[name] = value
        case _:
            owner.settings[name] = value


def bind_import(node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
    """Give imported names their dotted names; nothing is imported."""
    for alias in node.names:
        if isinstance(node, ast.Import):
            full = alias.name if alias.asname else alias.name.split(".")[0]
            scope[alias.asname or full] = Word(full)
        else:
            scope[alias.asname or alias.name] = operators.constant(f"{node.module}.{alias.name}")


def is_super(node: ast.expr) -> bool:
    """Whether the node is `super(...)`."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def truth(value: object) -> bool:
    """Whether a value counts as true.

    Raises:
        Unread: that depends on the elements of a tensor.
    """
    if isinstance(value, Array | Word):
        raise Unread("a choice that depends on values")
    return bool(value)


def items(value: object) -> list[object]:
    """What a loop over the value meets.

    Raises:
        Unread: no loop, or a long one.
    """
    if isinstance(value, Layer) and value.kind in ("ModuleList", "Sequential"):
        return list(value.inner.values())
    if isinstance(value, Array):
        if not value.shape:
            raise Unread("a loop over a scalar")
        value = [value.shaped(value.shape[1:])] * min(int(value.shape[0]), LONGEST_LOOP + 1)
    if not isinstance(value, list | tuple | range | dict):
        raise Unread("a loop over something")
    if len(value) > LONGEST_LOOP:
        raise Unread(f"a loop of more than {LONGEST_LOOP} rounds")
    return list(value)


def assigned(node: ast.stmt) -> list[str]:
    """Names that a statement assigns to."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    found = [part for target in targets if target is not None for part in ast.walk(target)]
    return [part.id for part in found if isinstance(part, ast.Name)]
