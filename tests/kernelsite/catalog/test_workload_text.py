"""What people write is read with its lines, and refused where it is not what it seems; what is written reads the same."""

from __future__ import annotations

import time

import pytest

from kernelsite.catalog import workload_report, workload_text
from search.workload import Case, DType, RandomInput, Tensor, Workload, shipped_workloads
from tests.kernelsite.workload_texts import REFERENCE, SOFTMAX


@pytest.mark.parametrize("workload", shipped_workloads().values(), ids=lambda each: each.name)
def test_every_shipped_workload_survives_the_round(workload):
    definition = workload_text.write(workload)
    report = workload_report.check(definition, workload.reference)
    assert not report.problems
    assert report.workload.hash == workload.hash


@pytest.mark.parametrize(
    "word", ["1e-5", "null", "true", "~", "NaN", "0x10", "no", "", " lead", "a: b", "# c", "é\n2"]
)
def test_words_that_look_like_something_else_stay_words(word):
    workload = Workload(
        name="w",
        title=word,
        op_type="",
        axes={},
        inputs={},
        outputs={"y": Tensor(shape=None, dtype=DType.FLOAT32)},
        reference=REFERENCE,
        cases=(Case(name="main", axes={}, inputs={}),),
    )
    found = workload_text.read(workload_text.write(workload))
    assert found.document["title"] == word


def test_plain_words_mean_what_json_means():
    text = "a: 1e-5\nb: 1_000\nc: 0x10\nd: no\ne: 012\nf: '1'\ng: 12:30:45\nh: 2001-01-01\ni: -3\nj: ~\n"
    assert workload_text.read(text).document == {
        "a": 1e-5, "b": "1_000", "c": "0x10", "d": "no", "e": 12, "f": "1",
        "g": "12:30:45", "h": "2001-01-01", "i": -3, "j": None,
    }  # fmt: skip


def test_json_is_read_too_and_lines_are_kept():
    found = workload_text.read(
        '{"name": "w",\n "axes": {"M":\n {"type": "var"}},\n "cases": [\n {"name": "a"}]}'
    )
    assert found.document == {"name": "w", "axes": {"M": {"type": "var"}}, "cases": [{"name": "a"}]}
    assert found.line_of(("axes", "M", "type")) == 3
    assert found.line_of(("cases", 0, "axes")) == 5


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("a: 1\nb: [1, 2\n", 3, "Not YAML"),
        ("a: 1\na: 2\n", 2, "stands twice"),
        ("a: &x 1\nb: *x\n", 1, "anchor"),
        ("a: 1\nb: *x\n", 2, "alias"),
        ("a: !!python/object:os.system x\n", 1, "tag"),
        ("a: 1\n---\nb: 2\n", 2, "second document"),
        ("a: 1\nb: .nan\n", 2, "not a finite number"),
        ("a: 1\nb: 1e999\n", 2, "not a finite number"),
        ("a: -Infinity\n", 1, "not a finite number"),
        (f"a: {'9' * 5000}\n", 1, "too many digits"),
        ("a: 1\n? [1, 2]\n: 3\n", 2, "key must be a word"),
        ("a: \x00\n", None, "character"),
        (f"a: {'[' * 100_000}\n", 1, "depth|deeper"),
        (f"a: [{'1,' * 60_000}]\n", 1, "values"),
        ("a: " + "x" * 300_000, None, "KiB"),
    ],
)
def test_refusals_name_the_line(text, line, word):
    began = time.monotonic()
    with pytest.raises(workload_text.TextError, match=word) as caught:
        workload_text.read(text)
    assert caught.value.line == line
    assert time.monotonic() - began < 5


def problem_of(old, new, reference=REFERENCE):
    report = workload_report.check(SOFTMAX.replace(old, new) if old else SOFTMAX, reference)
    assert report.document is None
    return report.problems[0]


@pytest.mark.parametrize(
    ("old", "new", "field", "line", "word"),
    [
        ("M: 64", "M: -1", "cases.0.axes.M", 14, "greater than or equal to 0"),
        ("M: 64", "M: 1e999", "cases.0.axes.M", 14, "not a finite number"),
        ("M: 64", "M: NaN", "cases.0.axes.M", 14, "not a finite number"),
        ("M: 64", "M: 6.5", "cases.0.axes.M", 14, "integer"),
        ("M: 64", "M: true", "cases.0.axes.M", 14, "integer"),
        ("M: 64", "M: '64'", "cases.0.axes.M", 14, "integer"),
        ("M: 64", "M: 9000000000000000000", "cases.0.axes.M", 14, "less than or equal"),
        ("M: 64", "M: 9000000000", "cases.0.axes", 14, "GiB"),
        ("M: 64, ", "", "cases.0", 13, "Axes must be exactly"),
        ("  x: {shape: [M, N], dtype: float32}", "  x: {shape: [M, K], dtype: float32}", "inputs.x", 9, "Axis K"),
        ("dtype: float32}\ncases", "dtype: float33}\ncases", "outputs.y.dtype", 11, "'float64'"),
        ("relative: 1e-4", "relative: -1", "tolerance.relative", 18, "greater than or equal"),
        ("name: odd", "name: main", "cases", 12, "share a name"),
        ("timed: false", "timed: 0", "cases.1.timed", 17, "boolean"),
        ("op_type: softmax", "op_typ: softmax", "op_typ", 3, "no such field"),
        ("title: \"Softmax of rows\"", "reference: x", "reference", 2, "text of its own"),
        ("tags: [row_reduction]", "tags: [\"a\u202eb\"]", "", 4, "cannot be seen or read"),
        ("  axes: {M: 3, N: 33}\n  timed: false", "  axes: {M: 3, N: 33}\n  inputs: {z: {type: random}}", "cases.1", 15, "Unknown inputs"),
        ("tolerance:", "floor: {bytes: M *** N}\ntolerance:", "floor.bytes", 18, "cannot read"),
        (SOFTMAX, "", "", None, "Write fields"),
        (SOFTMAX, "[1, 2]", "", None, "Write fields"),
    ],
)  # fmt: skip
def test_a_problem_of_the_definition_names_line_and_field(old, new, field, line, word):
    problem = problem_of(old, new)
    assert (problem.place, problem.field, problem.line) == ("definition", field, line)
    assert word in problem.text


@pytest.mark.parametrize(
    ("reference", "line", "word"),
    [
        ("", None, "There is no reference"),
        ("   \n", None, "There is no reference"),
        ("import torch\n\ndef run(x:\n", 3, "Not Python"),
        ("def go(x):\n    return x\n", None, "function run"),
        ("def run(x, y):\n    return x\n", 1, "takes 2 arguments, but there are 1 inputs"),
        ("import socket\n" + REFERENCE, 1, "without a network"),
        ("import torch\n\ndef run(x):\n    import urllib.request\n", 4, "without a network"),
        ("def run(x):\n    return x  # \u202e\n", 2, "cannot be seen or read"),
        ("def run(x):\n    return '\x00'\n", 2, "cannot be seen or read"),
        ("def run(x):\n    return '\ud800'\n", 2, "cannot be seen or read"),
        ("# " + "x" * 300_000 + "\n" + REFERENCE, None, "KiB"),
        ("def run(x):\n    return " + "(" * 5000 + ")" * 5000, 2, "Not Python"),
    ],
)
def test_a_problem_of_the_reference_names_its_line(reference, line, word):
    problem = problem_of("", "", reference)
    assert (problem.place, problem.line) == ("reference", line)
    assert word in problem.text


def test_hidden_or_untimed_cases_alone_are_no_workload():
    assert "No case is timed" in problem_of("N: 256}", "N: 256}\n  timed: false").text
    text = SOFTMAX.replace("N: 256}", "N: 256}\n  hidden: true").replace("timed: false", "hidden: true")
    assert "Every case is hidden" in workload_report.check(text, REFERENCE).problems[0].text


def test_an_untold_custom_maker_is_named():
    text = SOFTMAX.replace("N: 256}", "N: 256}\n  inputs: {x: {type: custom}}")
    assert "no entry point" in workload_report.check(text, REFERENCE).problems[0].text
    told = text + "custom_inputs_entrypoint: make\n"
    assert "no function make" in workload_report.check(told, REFERENCE).problems[0].text
    assert workload_report.check(told, REFERENCE + "\n\ndef make(M, N, device):\n    return {}\n").document


def test_several_problems_come_at_once():
    text = SOFTMAX.replace("M: 64", "M: -1").replace("N: 33", "N: x").replace("op_type", "kind")
    report = workload_report.check(text, "def go(): pass\n")
    assert {problem.field for problem in report.problems} >= {
        "kind",
        "cases.0.axes.M",
        "cases.1.axes.N",
        "op_type",
    }
    assert report.problems[-1].place == "reference"


def test_defaults_are_left_out_but_not_lost():
    workload = workload_report.check(SOFTMAX, REFERENCE).workload
    assert workload.cases[0] == Case(name="main", axes={"M": 64, "N": 256})
    again = workload.model_copy(
        update={"cases": (Case(name="main", axes={"M": 1, "N": 2}, inputs={"x": RandomInput(scale=2.0)}),)}
    )
    assert "{x: {type: random, scale: 2.0}}" in workload_text.write(again)
