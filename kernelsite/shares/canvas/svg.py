"""SVG, with presentation attributes only: it looks the same under any content policy."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from kernelsite.catalog.plain import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelsite.shares.canvas.canvas import Point, Stroke, Type

FONT = "Inter, system-ui, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"


class SvgCanvas:
    """See `Canvas`."""

    def __init__(self, width: int, height: int) -> None:
        """White."""
        self.width, self.height = width, height
        self.marks: list[str] = []

    def line(self, points: Sequence[Point], stroke: Stroke) -> None:
        """See `Canvas`."""
        places = " ".join(f"{x:.2f},{y:.2f}" for x, y in points)
        dash = ' stroke-dasharray="6 5"' if stroke.is_dashed else ""
        opacity = f' stroke-opacity="{stroke.opacity}"' if stroke.opacity < 1 else ""
        self.marks.append(
            f'<polyline points="{places}" fill="none" stroke="{stroke.colour}" stroke-width="{stroke.width}"'
            f' stroke-linejoin="round"{dash}{opacity}/>'
        )

    def box(self, corner: Point, size: Point, colour: str) -> None:
        """See `Canvas`."""
        place = f'x="{corner[0]:.2f}" y="{corner[1]:.2f}" width="{size[0]:.2f}" height="{size[1]:.2f}"'
        self.marks.append(f'<rect {place} fill="{colour}"/>')

    def text(self, place: Point, words: str, type_: Type) -> None:
        """See `Canvas`; the words are a stranger's."""
        weight = ' font-weight="650"' if type_.is_bold else ""
        self.marks.append(
            f'<text x="{place[0]:.2f}" y="{place[1]:.2f}" font-size="{type_.size}" fill="{type_.colour}"'
            f' text-anchor="{type_.anchor}"{weight}>{escape(visible(words))}</text>'
        )

    def done(self) -> bytes:
        """See `Canvas`."""
        size = f'width="{self.width}" height="{self.height}" viewBox="0 0 {self.width} {self.height}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{FONT}">'
        ground = f'<rect width="{self.width}" height="{self.height}" fill="#ffffff"/>'
        return "\n".join((head, ground, *self.marks, "</svg>\n")).encode("utf-8", "replace")


def new(width: int, height: int, scale: int) -> SvgCanvas:
    """An empty one; it has no pixels."""
    return SvgCanvas(width, height)
