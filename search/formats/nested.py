"""Inputs that a program hands over nested in tuples, lists and dictionaries: their leaves, and how to nest them again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from search.formats.convert import identifier
from search.formats.shapes import Array, Unread

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST = 256
_RESERVED = frozenset(
    ["torch", "run", "ref_kernel", "generate_input", "make_inputs", "data", "axes", "device"]
)


@dataclass(frozen=True)
class Leaf:
    """A tensor or number among nested values."""

    name: str
    path: str
    """Python that gets it from the whole, such as `[2]["weight"]`."""
    value: object


def leaves(data: object, names: Sequence[str]) -> tuple[list[Leaf], str]:
    """Leaves by name, and Python that nests them again.

    Args:
        data: nested values.
        names: of the outermost parts; "" where there is none.

    Raises:
        Unread: something that is neither a tensor, a number, a word, nor nested.
    """
    found: list[Leaf] = []
    text = _walk(data, "", names[0] if names and not isinstance(data, list | tuple) else "", found, names)
    if not found:
        raise Unread("inputs without a tensor")
    return found, text


def _walk(value: object, path: str, wish: str, found: list[Leaf], names: Sequence[str] = ()) -> str:
    if len(found) > _MOST:
        raise Unread(f"more than {_MOST} inputs")
    match value:
        case None | bool() | str():
            return repr(value)
        case Array() | int() | float():
            name = _free(wish or "x", found)
            found.append(Leaf(name, path, value))
            return name
        case list() | tuple():
            given = [*names, *[""] * len(value)]
            parts = [
                _walk(one, f"{path}[{place}]", given[place] or f"{wish or 'input'}_{place}", found)
                for place, one in enumerate(value)
            ]
            return (
                f"[{', '.join(parts)}]"
                if isinstance(value, list)
                else f"({''.join(f'{part}, ' for part in parts)})"
            )
        case dict():
            pairs = [
                f"{key!r}: {_walk(one, f'{path}[{key!r}]', f'{wish}_{key}' if wish else str(key), found)}"
                for key, one in value.items()
            ]
            return f"{{{', '.join(pairs)}}}"
    raise Unread("an input that is no tensor, number or word")


def _free(wish: str, found: Sequence[Leaf]) -> str:
    name = identifier(wish)
    while name in _RESERVED or any(leaf.name == name for leaf in found):
        name += "_"
    return name
