"""PDF of one page (ISO 32000-1): lines and boxes as vectors, words in Helvetica, which every reader has."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from kernelsite.shares.canvas.canvas import rgb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelsite.shares.canvas.canvas import Point, Stroke, Type

POINTS = 0.75
"""Points per unit: 96 pixels and 72 points are an inch."""
SIGNS = {
    191: "'",
    222: "ijl",
    260: "|",
    278: " !,./:;I[\\]ft",
    333: "()-`r",
    334: "{}",
    355: '"',
    389: "*",
    469: "^",
    500: "Jckvsxyz",
    556: "#$0123456789?L_abdeghnopqu",
    584: "+<=>~",
    611: "FTZ",
    667: "&ABEKPSVXY",
    722: "CDHNRUw",
    778: "GOQ",
    833: "Mm",
    889: "%",
    944: "W",
    1015: "@",
}
"""Helvetica's signs by width, in thousandths of the size (Adobe's font metrics)."""
WIDTHS = {sign: width for width, signs in SIGNS.items() for sign in signs}
OTHER_WIDTH = 570
BOLD_FACTOR = 1.06
"""Helvetica-Bold is about so much wider."""


class PdfCanvas:
    """See `Canvas`."""

    def __init__(self, width: int, height: int) -> None:
        """White."""
        self.width, self.height = width, height
        self.marks = [f"{POINTS} 0 0 -{POINTS} 0 {height * POINTS:.2f} cm 1 j 0 J"]

    def line(self, points: Sequence[Point], stroke: Stroke) -> None:
        """See `Canvas`."""
        red, green, blue = (1 + (part / 255 - 1) * stroke.opacity for part in rgb(stroke.colour))
        dash = "[6 5] 0 d" if stroke.is_dashed else "[] 0 d"
        path = " ".join(f"{x:.2f} {y:.2f} {'l' if place else 'm'}" for place, (x, y) in enumerate(points))
        self.marks.append(f"{red:.3f} {green:.3f} {blue:.3f} RG {stroke.width} w {dash} {path} S")

    def box(self, corner: Point, size: Point, colour: str) -> None:
        """See `Canvas`."""
        self.marks.append(f"{_fill(colour)} {corner[0]:.2f} {corner[1]:.2f} {size[0]:.2f} {size[1]:.2f} re f")

    def text(self, place: Point, words: str, type_: Type) -> None:
        """See `Canvas`; what Windows-1252 has no sign for becomes a question mark."""
        share = {"start": 0.0, "middle": 0.5, "end": 1.0}[type_.anchor]
        x = place[0] - share * _width(words, type_)
        code = words.encode("cp1252", "replace").hex()
        font = "B" if type_.is_bold else "F"
        # The page is upside down, so the letters are turned back.
        self.marks.append(
            f"BT /{font} {type_.size} Tf {_fill(type_.colour)} 1 0 0 -1 {x:.2f} {place[1]:.2f} Tm <{code}> Tj ET"
        )

    def done(self) -> bytes:
        """See `Canvas`."""
        content = zlib.compress("\n".join(self.marks).encode())
        size = f"{self.width * POINTS:.2f} {self.height * POINTS:.2f}"
        page = f"/Type /Page /Parent 2 0 R /MediaBox [0 0 {size}] /Contents 4 0 R"
        return _file(
            [
                b"<< /Type /Catalog /Pages 2 0 R >>",
                b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
                f"<< {page} /Resources << /Font << /F 5 0 R /B 6 0 R >> >> >>".encode(),
                b"<< /Length %d /Filter /FlateDecode >>\nstream\n%b\nendstream" % (len(content), content),
                _font("Helvetica"),
                _font("Helvetica-Bold"),
            ]
        )


def _fill(colour: str) -> str:
    red, green, blue = (part / 255 for part in rgb(colour))
    return f"{red:.3f} {green:.3f} {blue:.3f} rg"


def _width(words: str, type_: Type) -> float:
    widths = sum(WIDTHS.get(sign, OTHER_WIDTH) for sign in words)
    return widths / 1000 * type_.size * (BOLD_FACTOR if type_.is_bold else 1.0)


def _font(name: str) -> bytes:
    return f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>".encode()


def _file(objects: list[bytes]) -> bytes:
    """Numbered objects, the table of where they begin, and the trailer."""
    out = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    starts = []
    for number, body in enumerate(objects, start=1):
        starts.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % start for start in starts)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, table)
    return bytes(out)


def new(width: int, height: int, scale: int) -> PdfCanvas:
    """An empty one; it has no pixels."""
    return PdfCanvas(width, height)
