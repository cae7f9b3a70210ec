"""Filling templates: blocks keep their indentation, empty pieces leave no trace, missing ones are an error."""

from __future__ import annotations

import pytest

from search.agents.playbook.text import fill, rename


def test_a_block_takes_the_indentation_of_its_place():
    assert fill("if (x) {\n  @body@\n}\n", body="a;\n\n  b;\n") == "if (x) {\n  a;\n\n    b;\n}\n"


def test_an_empty_piece_removes_its_line():
    assert fill("a;\n@gone@\nb;\n", gone="") == "a;\nb;\n"


def test_a_place_inside_a_line_takes_the_piece_as_it_is():
    assert fill("x = @left@ + @right@;\n", left="a", right="b") == "x = a + b;\n"


def test_a_decorator_is_no_place():
    assert fill("@triton.jit\ndef @name@():\n", name="f") == "@triton.jit\ndef f():\n"


def test_a_missing_piece_is_an_error():
    with pytest.raises(KeyError):
        fill("@body@\n")


def test_renaming_touches_whole_identifiers_only():
    assert rename("sum += sums[n] * n;", {"sum": "sum[r]", "n": "n + l"}) == "sum[r] += sums[n + l] * n + l;"
    assert rename("sum", {}) == "sum"


def test_names_may_be_swapped():
    assert rename("M * N", {"M": "N", "N": "M"}) == "N * M"
