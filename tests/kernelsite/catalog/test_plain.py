from __future__ import annotations

import pytest

from kernelsite.catalog.highlight import diff, lines, marked, split
from kernelsite.catalog.plain import LOG_LIMIT, hidden_count, tidy_log, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\r\nc", "a\tb\nc"),
        ("a\rb", "a⟨U+000D⟩b"),
        ("a\x00b", "a⟨U+0000⟩b"),
        ("\N{RIGHT-TO-LEFT OVERRIDE}x", "⟨U+202E⟩x"),
        ("\ud800", "⟨U+D800⟩"),
        ("\N{ZERO WIDTH SPACE}", "⟨U+200B⟩"),
        ("größer ≤ 😀", "größer ≤ 😀"),
    ],
)
def test_what_cannot_be_seen_is_written_out(text, shown):
    assert visible(text) == shown
    visible(text).encode()
    assert hidden_count(text) == shown.count("⟨U+")


def test_a_log_reads_as_a_terminal_would_leave_it():
    assert tidy_log("\x1b[1;31merror\x1b[0m: x\r\n") == "error: x\n"
    assert tidy_log("10%\r50%\r100%\ndone") == "100%\ndone"
    assert tidy_log("\x1b]0;title\x07text") == "text"


def test_a_long_log_loses_its_middle():
    log = tidy_log("first\n" + "x" * 10_000_000 + "\nlast")
    assert len(log) < LOG_LIMIT + 100
    assert log.startswith("first")
    assert log.endswith("last")
    assert "characters left out" in log


@pytest.mark.parametrize("language", ["cpp", "triton", "unknown"])
def test_knobs_are_marked_outside_of_tags_only(language):
    source = 'int a = BLOCK + MY_BLOCK; // BLOCK "BLOCK" <BLOCK> &BLOCK;'
    (line,) = (marked(line, {"BLOCK": '4"><script>'}) for line in lines(source, language))
    assert line.count('<mark class="knob"') == 5
    assert "<script>" not in line
    assert "MY_<mark" not in line


def test_a_diff_of_all_lines_has_no_hunks():
    rows = diff("a\nb\nc\n", "a\nB\nc\n", whole=True)
    assert [row.kind for row in rows] == ["same", "del", "add", "same"]


def test_beside_each_other_gone_lines_stand_by_those_that_came():
    rows = split(diff("a\nb\nc\nd\n", "a\nB\nd\ne\n", whole=True))
    sides = [(row.old.text if row.old else None, row.new.text if row.new else None) for row in rows]
    assert sides == [("a", "a"), ("b", "B"), ("c", None), ("d", "d"), (None, "e")]


def test_a_text_of_many_characters_is_not_compared():
    assert diff("x" * 2_000_000, "y") is None
