"""Where figures are written to, one file per format: `CANVASES` is the list.

The PNG canvas loads Pillow, so that it is imported only when a picture is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernelsite.shares.canvas.canvas import Canvas

CANVASES: dict[str, tuple[str, str]] = {
    "svg": ("kernelsite.shares.canvas.svg", "image/svg+xml"),
    "png": ("kernelsite.shares.canvas.png", "image/png"),
    "pdf": ("kernelsite.shares.canvas.pdf", "application/pdf"),
}
"""Module and content type by ending."""


def new_canvas(form: str, width: int, height: int, scale: int = 2) -> Canvas:
    """An empty canvas of a format; `scale` is pixels per unit where there are pixels."""
    canvas: Canvas = import_module(CANVASES[form][0]).new(width, height, scale)
    return canvas
