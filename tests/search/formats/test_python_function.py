"""A function or a module with example inputs."""

from __future__ import annotations

import json

import pytest
from format_fixtures import files_of

from search.formats import FORMATS, Collection, FormatError
from search.formats.format import Notes
from search.formats.probes import Probed, Seen
from search.formats.registry import FINISH
from search.workload import shipped_workload

FORMAT = FORMATS["python_function"]
SOURCE = b"def double(x):\n    return x * 2\n"


def parse(described, source=SOURCE):
    return FORMAT.parse({"double.py": source, "double.inputs.json": json.dumps(described).encode()})


def case(**changes):
    return {"name": "main", "inputs": {"x": {"shape": [4, 8]}}} | changes


def test_sizes_that_differ_from_case_to_case_are_axes():
    collection, _ = FORMAT.parse(files_of("python_function"))
    norm = next(one for one in collection.workloads if one.title.startswith("RMS"))
    assert norm.inputs["weight"].shape == ("x_1",)
    assert [one.axes for one in norm.cases] == [{"x_0": 16, "x_1": 64}, {"x_0": 0, "x_1": 32}]


def test_a_module_has_its_weights_as_inputs():
    collection, _ = FORMAT.parse(files_of("python_function"))
    module = next(one for one in collection.workloads if one.name == "feed_forward")
    assert list(module.inputs) == ["x", "gate_weight", "up_weight", "down_weight"]
    assert [one.axes for one in module.cases] == [{"tokens": 10}, {"tokens": 1}]


def test_a_function_called_run_is_taken_as_it_is():
    files = {
        "a.py": b"def run(x):\n    return x + x\n",
        "a.inputs.json": json.dumps({"function": "run", "cases": [case()]}).encode(),
    }
    (workload,) = FORMAT.parse(files)[0].workloads
    assert workload.reference.count("def run") == 1


@pytest.mark.parametrize(
    ("described", "words"),
    [
        ({"function": "double", "cases": []}, "double.inputs.json: cases"),
        ({"cases": [case()]}, "give either `function` or `module`"),
        ({"function": "triple", "cases": [case()]}, "double.py: it does not define `triple`"),
        ({"function": "double", "cases": [case(inputs={"x": {"shape": [-1]}})]}, "cases.0.inputs.x"),
        ({"function": "double", "cases": [case(inputs={"x": {"shape": ["rows"]}})]}, "sizes has no rows"),
        (
            {"function": "double", "cases": [case(inputs={"x": {"shape": [2], "dtype": "complex64"}})]},
            "inputs.x",
        ),
        (
            {"function": "double", "cases": [case(), case(inputs={"y": {"shape": [2]}})]},
            "other inputs than main",
        ),
        ({"function": "double", "cases": [case(), case()]}, "two cases share a name"),
    ],
)
def test_bad_input_names_its_place(described, words):
    with pytest.raises(FormatError) as caught:
        parse(described)
    assert words in str(caught.value)


def test_a_description_without_its_source_is_refused():
    with pytest.raises(FormatError, match=r"a\.py: the file is missing"):
        FORMAT.parse({"a.inputs.json": json.dumps({"function": "f", "cases": [case()]}).encode()})


def test_a_program_that_cannot_be_read_becomes_a_workload_by_a_probe():
    source = b"def double(x):\n    return x[x > 0].sum()\n"
    collection, _ = parse({"function": "double", "cases": [case()]}, source)
    (probe,) = collection.probes
    assert probe.line == 2
    seen = Probed(inputs={"x": Seen(shape=(4, 8))}, outputs=(Seen(shape=()),))
    workload = FINISH["python_function"](probe, [seen], Notes())
    assert workload.inputs["x"].shape == ("x_0", "x_1")


def test_a_workload_of_ours_comes_back():
    files, _ = FORMAT.write(Collection((shipped_workload("softmax"),)))
    (again,) = FORMAT.parse(files)[0].workloads
    assert list(again.inputs) == list(shipped_workload("softmax").inputs)
