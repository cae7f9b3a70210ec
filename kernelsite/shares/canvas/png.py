"""PNG by Pillow in the site's own font. Lines are drawn at twice the size and shrunk, which smooths them."""

from __future__ import annotations

import io
from functools import lru_cache
from typing import TYPE_CHECKING

from django.conf import settings
from PIL import Image, ImageDraw, ImageFont

from kernelsite.catalog.plain import visible
from kernelsite.shares.canvas.canvas import rgb

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kernelsite.shares.canvas.canvas import Point, Stroke, Type

FONT = settings.BASE_DIR / "static" / "vendor" / "inter-latin-wght-normal.woff2"
SMOOTH = 2
DASH, GAP = 6.0, 5.0
ANCHORS = {"start": "ls", "middle": "ms", "end": "rs"}


@lru_cache(maxsize=64)
def font(size: int, weight: int) -> ImageFont.FreeTypeFont:
    """Inter at a size in pixels; FreeType reads the web font."""
    face = ImageFont.truetype(str(FONT), size)
    face.set_variation_by_axes([weight])
    return face


class PngCanvas:
    """See `Canvas`."""

    def __init__(self, width: int, height: int, scale: int) -> None:
        """White."""
        self.unit = scale * SMOOTH
        self.image = Image.new("RGB", (width * self.unit, height * self.unit), "#ffffff")
        self.pen = ImageDraw.Draw(self.image)

    def line(self, points: Sequence[Point], stroke: Stroke) -> None:
        """See `Canvas`."""
        colour = tuple(round(255 + (part - 255) * stroke.opacity) for part in rgb(stroke.colour))
        width = max(1, round(stroke.width * self.unit))
        for piece in _dashes(points) if stroke.is_dashed else [points]:
            scaled = [(x * self.unit, y * self.unit) for x, y in piece]
            self.pen.line(scaled, fill=colour, width=width, joint="curve")

    def box(self, corner: Point, size: Point, colour: str) -> None:
        """See `Canvas`."""
        left, top = corner[0] * self.unit, corner[1] * self.unit
        right, bottom = left + size[0] * self.unit, top + size[1] * self.unit
        if right - left >= 1 and bottom - top >= 1:
            self.pen.rectangle((left, top, right - 1, bottom - 1), fill=colour)

    def text(self, place: Point, words: str, type_: Type) -> None:
        """See `Canvas`."""
        face = font(round(type_.size * self.unit), 650 if type_.is_bold else 400)
        at = (place[0] * self.unit, place[1] * self.unit)
        self.pen.text(at, visible(words), fill=type_.colour, font=face, anchor=ANCHORS[type_.anchor])

    def done(self) -> bytes:
        """See `Canvas`."""
        out = io.BytesIO()
        self.image.reduce(SMOOTH).save(out, "PNG", optimize=True)
        return out.getvalue()


def _dashes(points: Sequence[Point]) -> Iterator[list[Point]]:
    """Pieces of straight level lines; figures dash nothing else."""
    (x, y), (end, _) = points[0], points[-1]
    while x < end:
        yield [(x, y), (min(x + DASH, end), y)]
        x += DASH + GAP


def new(width: int, height: int, scale: int) -> PngCanvas:
    """An empty one."""
    return PngCanvas(width, height, scale)
