"""KernelBench: weights become inputs, sizes get names, and what cannot be read is asked for by line."""

from __future__ import annotations

import pytest
from format_fixtures import files_of

from search.formats import FORMATS, Collection, FormatError
from search.formats.format import Notes
from search.formats.probes import Probed, Seen
from search.formats.registry import FINISH
from search.records import SOURCE_LIMIT_BYTES
from search.workload import CustomInput, DType, RandomInput, ScalarInput, shipped_workload

FORMAT = FORMATS["kernelbench"]
PROBLEM = """
import torch
import torch.nn as nn

{before}
class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        {init}

    def forward(self, x):
        {forward}

batch, width = 4, 8

def get_inputs():
    return [{inputs}]

def get_init_inputs():
    return [width]
"""


def problem(before="", init="pass", forward="return x", inputs="torch.randn(batch, width)"):
    return PROBLEM.format(before=before, init=init, forward=forward, inputs=inputs)


def parse(text):
    return FORMAT.parse({"a.py": text.encode()})


def outputs(forward, init="pass", inputs="torch.randn(batch, width)"):
    """Shapes and types of the outputs of a model's forward."""
    collection, _ = parse(problem(init=init, forward=forward, inputs=inputs))
    assert not collection.probes, collection.probes[0].problem
    (workload,) = collection.workloads
    sizes = workload.sizes(workload.cases[0])
    return [(workload.shape(one, sizes), str(one.dtype)) for one in workload.outputs.values()]


def fixture(name):
    return next(one for one in FORMAT.parse(files_of("kernelbench"))[0].workloads if one.name == name)


def test_weights_are_inputs_of_explicit_shape():
    workload = fixture("linear_softmax")
    shapes = {name: tensor.shape for name, tensor in workload.inputs.items()}
    assert shapes == {
        "x": ("batch_size", "in_features"),
        "fc_weight": ("out_features", "in_features"),
        "fc_bias": ("out_features",),
    }
    assert workload.cases[0].axes == {"batch_size": 6}


def test_weights_keep_sums_near_one():
    case = fixture("linear_softmax").cases[0]
    assert case.inputs["fc_weight"] == RandomInput(scale=0.25)
    assert case.inputs["fc_bias"] == RandomInput()


def test_inputs_that_are_written_are_copied():
    workload = fixture("in_place")
    assert "    x = x.clone()\n    y = y.clone()\n" in workload.reference
    assert ".clone()" not in fixture("blocks").reference


def test_sizes_of_a_convolution_are_formulas():
    workload = fixture("conv_bias_pool")
    case = workload.cases[0]
    assert workload.shape(workload.outputs["output"], workload.sizes(case)) == (2, 8, 4, 4)
    other = case.model_copy(update={"axes": {**case.axes, "height": 33}})
    assert workload.shape(workload.outputs["output"], workload.sizes(other)) == (2, 8, 8, 4)


def test_results_may_be_several_and_whole_numbers():
    workload = fixture("router")
    assert [str(one.dtype) for one in workload.outputs.values()] == ["float32", "int32"]


def test_inputs_that_must_be_positive_are_made_by_the_file():
    workload = fixture("positive")
    assert workload.custom_inputs_entrypoint == "make_inputs"
    assert workload.cases[0].inputs == {"x": CustomInput()}


def test_numbers_and_ranges_are_kept():
    assert fixture("times_scalar").cases[0].inputs["s"] == ScalarInput(value=3.14)
    assert fixture("cross_entropy").cases[0].inputs["targets"] == RandomInput(low=0, high=10)


@pytest.mark.parametrize(
    ("forward", "shape", "dtype"),
    [
        ("return x.t() @ x", (8, 8), "float32"),
        ("return x.sum(dim=1, keepdim=True).half()", (4, 1), "float16"),
        ("return torch.cat([x, x], dim=1)[:, 2:-1]", (4, 13), "float32"),
        ("return x.view(2, -1, 4)", (2, 4, 4), "float32"),
        ("return torch.einsum('ij,kj->ik', x, x)", (4, 4), "float32"),
        ("return (x > 0).sum()", (), "int64"),
        ("return x.unsqueeze(1).expand(-1, 3, -1)", (4, 3, 8), "float32"),
        ("return torch.nn.functional.pad(x, (1, 2))", (4, 11), "float32"),
        ("return x.chunk(2, dim=-1)[0]", (4, 4), "float32"),
        ("return torch.stack([row for row in (x, x, x)])", (3, 4, 8), "float32"),
        ("return x.permute(1, 0).flatten()", (32,), "float32"),
        ("return x.max(dim=1)[1]", (4,), "int64"),
        ("return x.to(torch.bfloat16) * 2.0", (4, 8), "bfloat16"),
        ("return torch.arange(0, 10, 3)", (4,), "int64"),
    ],
)
def test_shapes_are_read(forward, shape, dtype):
    assert outputs(forward) == [(shape, dtype)]


@pytest.mark.parametrize(
    ("forward", "problem_part"),
    [
        ("return x[x > 0]", "truth values"),
        ("return torch.nonzero(x)", "torch.nonzero"),
        ("return torch.unique(x)", "torch.unique"),
        ("return x if x.sum() > 0 else -x", "depends on values"),
        ("return torch.nn.functional.dropout(x)", "dropout"),
        ("return mystery(x)", "the name `mystery`"),
        ("return x @ x", "a product of (4, 8) and (4, 8)"),
        ("return x.view(3, -1)", "does not fit"),
        ("while True: x = x + 1", "a statement `while`"),
        ("return [x for _ in range(10**9)][0]", "a loop of more than"),
        ("return self.forward(x)", "nest too deep"),
        ("return torch.zeros(10**13)", "the shape"),
        ("return x + torch.randn(4, 8)", "makes every result another one"),
        ("return x * 9**9**9", "a large power"),
    ],
)
def test_what_cannot_be_read_names_its_line(forward, problem_part):
    text = problem(forward=forward)
    collection, report = parse(text)
    (probe,) = collection.probes
    assert problem_part in probe.problem
    assert probe.line == text[: text.index(forward)].count("\n") + 1 or "nest too deep" in probe.problem
    assert report.asked[0].where == "a.py"
    assert not collection.workloads


def test_a_probe_becomes_a_workload():
    (probe,) = FORMAT.parse(files_of("kernelbench"))[0].probes
    assert (probe.name, probe.line) == ("chosen_rows", 10)
    seen = Probed(inputs={"x": Seen(shape=(4, 5))}, outputs=(Seen(shape=()),))
    workload = FINISH[probe.format](probe, [seen], Notes())
    assert workload.outputs["output"].shape == ()
    assert workload.custom_inputs_entrypoint == "make_inputs"
    assert (
        FORMAT.write(Collection((workload,)))[0]["chosen_rows.py"]
        == files_of("kernelbench")["chosen_rows.py"]
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"class Model:\n  pass\ndef get_inputs(): return []\n", "it does not define get_init_inputs"),
        (b"class Model\ndef get_inputs()", "a.py:1: not Python"),
        (b"class Model: pass\n# \xff def get_inputs", "a.py:2: byte 20 is not UTF-8"),
        (
            "class Model: pass\n# \u202e\ndef get_inputs(): pass".encode(),
            "a.py:2: holds the character U+202E",
        ),
        (b"class Model: pass\ndef get_inputs" + b" " * SOURCE_LIMIT_BYTES, "longer than"),
        (b"class Model: pass\ndef get_inputs(): return " + b"(" * 5000, "a.py"),
    ],
)
def test_a_bad_file_is_refused(content, words):
    with pytest.raises(FormatError) as caught:
        FORMAT.parse({"a.py": content})
    assert words in str(caught.value)


def test_what_happens_at_import_is_told_and_does_not_happen(tmp_path):
    mark = tmp_path / "mark"
    _, report = parse(problem(before=f"import pathlib\npathlib.Path({str(mark)!r}).touch()\n"))
    assert not mark.exists()
    assert any("runs at import" in one.text and one.where == "a.py:6" for one in report.changed)


def test_a_broken_file_does_not_take_its_neighbours_along():
    collection, report = FORMAT.parse({"a.py": problem().encode(), "b.py": b"class Model(:\ndef get_inputs"})
    assert [one.name for one in collection.workloads] == ["a"]
    assert [(one.where, one.line, one.whole) for one in report.dropped] == [("b.py", 1, True)]


def test_a_workload_of_ours_becomes_a_file_that_is_read_again():
    files, report = FORMAT.write(Collection((shipped_workload("rmsnorm"),)))
    (again,) = FORMAT.parse({path.replace(" ", "_"): content for path, content in files.items()})[0].workloads
    assert [str(tensor.dtype) for tensor in again.outputs.values()] == ["float32"]
    assert again.inputs["x"].dtype is DType.FLOAT32
    assert report.dropped


def test_a_new_model_belongs_to_the_problem_that_it_is_named_after():
    collection, report = FORMAT.parse(files_of("kernelbench"))
    (solution,) = collection.solutions
    assert (solution.name, solution.definition) == ("linear_softmax_new", "linear_softmax")
    assert any(one.text == "solution linear_softmax_new of linear_softmax" for one in report.taken)


def test_a_new_model_without_a_problem_is_left_out():
    files = files_of("kernelbench")
    files["stranger.py"] = files.pop("linear_softmax_new.py")
    collection, report = FORMAT.parse(files)
    assert not collection.solutions
    assert [one.where for one in report.dropped if one.whole] == ["stranger.py"]
