"""`Canvas`: what figures are painted on. Units are pixels of a screen, y grows downwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

Point = tuple[float, float]


@dataclass(frozen=True)
class Stroke:
    """A line's look."""

    colour: str
    """`#rrggbb`."""
    width: float = 1.0
    is_dashed: bool = False
    opacity: float = 1.0


@dataclass(frozen=True)
class Type:
    """A text's look."""

    colour: str
    size: float = 13.0
    is_bold: bool = False
    anchor: str = "start"
    """`start`, `middle` or `end` of the text stands at x."""


class Canvas(Protocol):
    """Takes marks in the order in which they cover each other."""

    def line(self, points: Sequence[Point], stroke: Stroke) -> None:
        """A line through points."""
        ...

    def box(self, corner: Point, size: Point, colour: str) -> None:
        """A filled rectangle."""
        ...

    def text(self, place: Point, words: str, type_: Type) -> None:
        """Words on one line; `place` is on the baseline."""
        ...

    def done(self) -> bytes:
        """The file."""
        ...


def rgb(colour: str) -> tuple[int, int, int]:
    """Parts of `#rrggbb`, 0 to 255."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
