"""The KNOBS literal: read, rewritten without touching the rest, refused with the line that is wrong."""

from __future__ import annotations

import pytest

from search.knobs import KnobError, macro_flags, read_knobs, with_knobs
from search.records import Language

CPP = '// KNOBS {"BN": 64, "ORDER": "ij"}\n#include <cstdint>\nint x = BN;\n'
PYTHON = (
    '"""Ein Käse."""\nimport math\n\nKNOBS = {\n    "BLOCK": 64,  # wide\n    "EVICT": True,\n}\nrest = "ä"\n'
)


def test_a_cpp_source_is_read():
    assert read_knobs(Language.CPP, CPP) == {"BN": 64, "ORDER": "ij"}
    assert read_knobs(Language.CUDA, CPP) == {"BN": 64, "ORDER": "ij"}


def test_a_python_source_is_read():
    assert read_knobs(Language.TRITON, PYTHON) == {"BLOCK": 64, "EVICT": True}
    assert read_knobs(Language.PYTORCH, "KNOBS: dict[str, int] = {'A': -1}\n") == {"A": -1}


@pytest.mark.parametrize(
    "source", ["x = 1\n", "", "def f():\n    KNOBS = {'A': 1}\n", "KNOBS: dict[str, int]\n"]
)
def test_a_python_source_without_a_literal_has_no_knobs(source):
    assert read_knobs(Language.TRITON, source) == {}


def test_only_the_first_line_counts_in_cpp():
    assert read_knobs(Language.CPP, "\n" + CPP) == {}


def test_writing_changes_only_the_literal():
    changed = with_knobs(Language.CPP, CPP, {"BN": 128})
    assert changed == CPP.replace("64", "128")
    changed = with_knobs(Language.TRITON, PYTHON, {"BLOCK": 128})
    assert read_knobs(Language.TRITON, changed) == {"BLOCK": 128, "EVICT": True}
    before, after = PYTHON.split("KNOBS = ")[0], '\nrest = "ä"\n'
    assert changed.startswith(before)
    assert changed.endswith(after)


def test_bytes_before_the_literal_do_not_move_the_cut():
    source = 'title = "ääää"; KNOBS = {"A": 1}; tail = "ö"\n'
    assert with_knobs(Language.TRITON, source, {"A": 2}) == source.replace("1", "2").replace('"A"', "'A'")


def test_writing_what_is_held_keeps_the_values():
    for language, source in ((Language.CPP, CPP), (Language.TRITON, PYTHON)):
        held = read_knobs(language, source)
        assert read_knobs(language, with_knobs(language, source, held)) == held


def test_a_source_without_knobs_takes_no_values():
    assert with_knobs(Language.TRITON, "x = 1\n", {}) == "x = 1\n"
    with pytest.raises(KnobError, match="no knob A"):
        with_knobs(Language.TRITON, "x = 1\n", {"A": 1})


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"BM": 1}, "no knob BM"),
        ({"BN": "wide"}, "type int"),
        ({"BN": True}, "type int"),
        ({"ORDER": "a; int y"}, "not one word"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(values, problem):
    with pytest.raises(KnobError, match=problem) as caught:
        with_knobs(Language.CPP, CPP, values)
    assert caught.value.line == 1


@pytest.mark.parametrize(
    ("source", "line", "problem"),
    [
        ("x = 1\nKNOBS = dict(A=1)\n", 2, "dictionary literal"),
        ("KNOBS = {\n  'A': 1,\n  'B': f(),\n}\n", 3, "knob B must be"),
        ("KNOBS = {'A': 1.5}\n", 1, "knob A must be"),
        ("KNOBS = {'a': 1}\n", 1, "not of the form"),
        ("KNOBS = {'A': 1,\n 'A': 2}\n", 2, "there twice"),
        ("KNOBS = {**other}\n", 1, "plain string"),
        ("KNOBS = {'A': 1}\nKNOBS = {'A': 2}\n", 2, "second time"),
        ("x = 1\ndef f(:\n", 2, "does not parse"),
        ("x = '\0'\n", 1, "does not parse"),
    ],
)
def test_a_bad_python_literal_names_its_line(source, line, problem):
    with pytest.raises(KnobError, match=problem) as caught:
        read_knobs(Language.TRITON, source)
    assert caught.value.line == line
    assert str(caught.value).startswith(f"line {line}: ")


@pytest.mark.parametrize("text", ["{", "[1]", '{"A": 1.5}', '{"A": null}', '{"a": 1}', "[" * 100_000])
def test_a_bad_first_line_is_refused(text):
    with pytest.raises(KnobError) as caught:
        read_knobs(Language.CPP, f"// KNOBS {text}\n")
    assert caught.value.line == 1


def test_flags_are_sorted_and_booleans_are_numbers():
    assert macro_flags({"B": True, "A": 64, "C": "wide", "D": False}) == [
        "-DA=64",
        "-DB=1",
        "-DC=wide",
        "-DD=0",
    ]


@pytest.mark.parametrize("values", [{"A": "1 -o /etc/x"}, {"A=1 -DB": 2}, {"A": ""}, {"lower": 1}])
def test_a_flag_never_smuggles_a_second_one(values):
    with pytest.raises(KnobError):
        macro_flags(values)
