from __future__ import annotations

import pytest

from kernelsite.catalog.highlight import DIFF_LIMIT, HIGHLIGHT_LIMIT, diff, lines

HOSTILE = 'x = 1 // </span><script>alert("1")</script>'


@pytest.mark.parametrize("language", ["cpp", "triton", "unknown"])
def test_hostile_source_is_escaped_in_every_language(language):
    text = "\n".join(lines(HOSTILE, language))
    assert "<script>" not in text
    assert "script" in text


def test_one_line_stays_one_line():
    source = "/* a\nb */\nint main() {\n  return 0;\n}\n"
    assert len(lines(source, "cpp")) == 5


def test_leading_blank_lines_keep_their_numbers():
    assert len(lines("\n\nint x;\n", "cpp")) == 3


def test_a_very_long_source_is_shown_plain():
    found = lines("int x;\n" * (HIGHLIGHT_LIMIT // 4), "cpp")
    assert found[0] == "int x;"


def test_a_diff_numbers_both_sides():
    rows = diff("a\nb\nc\n", "a\nB\nc\nd\n")
    told = [(row.kind, row.old, row.new, row.text) for row in rows[1:]]
    assert told == [
        ("same", 1, 1, "a"),
        ("del", 2, None, "b"),
        ("add", None, 2, "B"),
        ("same", 3, 3, "c"),
        ("add", None, 4, "d"),
    ]


def test_equal_texts_have_no_diff():
    assert diff("a\nb", "a\nb\n") == []


def test_texts_that_are_too_long_are_not_compared():
    assert diff("a\n" * (DIFF_LIMIT + 1), "b") is None
