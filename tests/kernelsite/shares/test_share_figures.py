"""Figures of a shared result as SVG, PNG and PDF, and the card of a link."""

from __future__ import annotations

import io
import re
import zlib
from xml.etree import ElementTree

import pytest
from PIL import Image

from kernelsite.shares import figures
from kernelsite.shares.document import Bar, CaseRow, Group, Headline, Line, Result, Workload

TIMES = "\N{MULTIPLICATION SIGN}"
BLUE = (0, 0x72, 0xB2)
HOSTILE = '</text><script>alert(1)</script>"&\u202e'


def result(**changes):
    fields = {
        "kind": "search",
        "title": "Softmax",
        "taken_at": "2026-11-30T01:00:00+00:00",
        "device": "NVIDIA H200",
        "workload": Workload(title="Row softmax", version=1),
        "headline": Headline(speedup=2.0, low=1.9, high=2.1, median_us=12.5, baseline="torch eager"),
        "lines": (Line(name="best so far", hue=0, records=((1.0, 0.5), (4.0, 2.0)), end=10.0),),
        "cases": (
            CaseRow(
                name="main", sizes="M=8", bars=(Bar(name="best", hue=0, speedup=2.0, low=1.9, high=2.1),)
            ),
        ),
    }
    return Result(**(fields | changes))


def svg(name, **changes):
    content, content_type = figures.figure(result(**changes), name, "svg")
    assert content_type == "image/svg+xml"
    return ElementTree.fromstring(content)


def words(root):
    return [element.text for element in root.iter() if element.tag.endswith("text")]


def test_the_svg_says_title_headline_device_and_axes():
    said = words(svg("best-so-far"))
    assert "Softmax" in said
    assert f"2.00{TIMES} vs torch eager · NVIDIA H200 · taken 2026-11-30" in said
    assert "evaluations" in said
    assert f"1{TIMES} baseline" in said


def test_the_line_stands_where_its_numbers_say():
    (line,) = [
        element
        for element in svg("best-so-far").iter()
        if element.tag.endswith("polyline") and element.get("stroke") == "#0072b2"
    ]
    points = [tuple(map(float, pair.split(","))) for pair in line.get("points").split()]
    left, right = 64, 64 + figures.WIDTH - 100
    assert points[0][0] == pytest.approx(left + (right - left) / 10, abs=0.2)
    assert points[-1][0] == pytest.approx(right, abs=0.2)
    heights = [y for _, y in points]
    assert heights == sorted(heights, reverse=True)
    bottom = 96 + figures.PLOT_HEIGHT - 150
    assert (bottom - heights[-1]) / (bottom - heights[0]) == pytest.approx(4.0, rel=0.01)


def test_words_of_strangers_cannot_become_marks():
    root = svg("cases", title=HOSTILE, cases=(CaseRow(name=HOSTILE, sizes=HOSTILE, bars=()),))
    assert not [element for element in root.iter() if element.tag.endswith("script")]
    assert any("⟨U+202E⟩" in word for word in words(root))
    assert figures.figure(result(title=HOSTILE), "best-so-far", "pdf")
    assert figures.card(result(title=HOSTILE))


def test_a_comparison_has_a_legend_and_named_bars():
    groups = tuple(
        Group(name=name, hue=hue, seeds=1, evaluations=1, passed=1, structures=1)
        for hue, name in enumerate("ab")
    )
    bars = (Bar(name="a", hue=0, speedup=2.0), Bar(name="b", hue=1))
    root = svg("cases", groups=groups, cases=(CaseRow(name="main", sizes="M=8", bars=bars),))
    assert {"a", "b", "no time", f"2.00{TIMES}"} <= set(words(root))
    assert {"a", "b"} <= set(words(svg("best-so-far", groups=groups)))


def test_the_png_has_the_line_s_colour_at_twice_the_size():
    content, content_type = figures.figure(result(), "best-so-far", "png")
    image = Image.open(io.BytesIO(content))
    assert content_type == "image/png"
    assert image.size == (2 * figures.WIDTH, 2 * figures.PLOT_HEIGHT)
    assert sum(count for count, colour in image.getcolors(1 << 20) if colour == BLUE) > 2000


def test_the_card_is_what_networks_ask_for_with_and_without_a_result():
    full, empty = figures.card(result()), figures.card(result(headline=None, lines=(), cases=()))
    for content in (full, empty):
        assert Image.open(io.BytesIO(content)).size == (1200, 630)
    assert len(full) > len(empty)


def test_the_pdf_s_table_points_at_its_objects_and_holds_the_words():
    content, content_type = figures.figure(result(title=f"Softmax 2{TIMES}"), "best-so-far", "pdf")
    assert content_type == "application/pdf"
    table = int(re.search(rb"startxref\n(\d+)", content)[1])
    assert content[table:].startswith(b"xref\n0 7")
    starts = [int(row) for row in re.findall(rb"(\d{10}) 00000 n", content[table:])]
    assert [content[at:].split(b" ", 1)[0] for at in starts] == [b"%d" % number for number in range(1, 7)]
    length = int(re.search(rb"/Length (\d+)", content)[1])
    stream = content.index(b"stream\n") + len(b"stream\n")
    drawn = zlib.decompress(content[stream : stream + length]).decode()
    assert f"Softmax 2{TIMES}".encode("cp1252").hex() in drawn
    assert "0.000 0.447 0.698 RG 3.0 w" in drawn


@pytest.mark.parametrize(
    ("name", "fields"), [("best-so-far", {"lines": ()}), ("cases", {"cases": ()}), ("roofline", {})]
)
def test_a_figure_that_is_not_there_is_none(name, fields):
    assert figures.figure(result(**fields), name, "svg") is None
