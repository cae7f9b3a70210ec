"""Workloads: what ships loads and keeps its identity, what is inconsistent does not construct."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from search.workload import Workload, evaluate_expression, shipped_workload, shipped_workloads

HASHES = {
    "add_rmsnorm": "e389d4fc42695f9cd382bf836bf600b9d811b463bf33a0318bba0e835e3c4790",
    "argmax": "da5f4b315a96fa5a19fc633dce213f6334586cfb09701b29ba871230df4da9c9",
    "box_stencil_2d": "130cff56b34cb8fe74411bae676e6fcf0e88887eac0436817ba10d7cb38c487f",
    "cross_entropy": "dbb68168564c23f13794a5c2ed2b53fb869bbc86bb11d1c482b149311044addd",
    "cumsum": "25046f9662d1210ae92ab8f79a4b74c2bf7778764938d35fc0e529966dadcbed",
    "gemm_bf16": "d710bcd5ab5d73d0fb96539a6b6a8d484c2862bd00d765510a856a06d75e1ed3",
    "gemm_bias_gelu": "b811feb162dbad5cf521cf333b907aba4df9c59cb449ffc43675fc99ad217d35",
    "gemm_fp16": "8d8c3319583c4dbe44f08936d680abbe9b0f5184bbfc9cf8d36c73a4f084d6cc",
    "gqa_paged_decode": "8aa86ca924156feacdcd4f07c221be384c3966406f304fc03220925fece84f0e",
    "layernorm": "601ed86fed9b7ae720874ac1eb7fefa55cb95892dd4679c6e3832305b828d0ba",
    "rmsnorm": "01acfd4a4624765c070b59c0c4340186823fc2205992986ded88fe779bf74ef8",
    "rmsnorm_bf16": "25b32de6abc87742e683c57434e392994c81866832f3f4749c6c9cfa93914d2c",
    "softmax": "da415a7f9cd703a1906c2b8b10fe22b34157aaf1af65bf3d70fb11e0f8f34b4d",
    "softmax_fp16": "be363062d0f769c9a6a776464b26abf1a74296b167ba87f0dae73dcbc80a3fc1",
    "top_k": "193cee1073e897a412901ff75fde853ca2ed188eb0b79d5980ecaf5f7e334eb7",
    "trimul": "3ad706a4ceae0a34e41179edafff441d34ee63ddfdee5af9f6db4808b023bac9",
}
"""A shipped version never changes: a change is a new version, with new records everywhere."""


def softmax(**changes) -> dict:
    return shipped_workload("softmax").dump() | changes


def made(source: dict) -> dict:
    return {"cases": [{"name": "a", "axes": {"M": 1, "N": 2}, "inputs": {"x": source}}]}


def compared(comparator: dict, **changes) -> dict:
    return {"outputs": {"y": {"shape": ["M", "N"], "dtype": "float32", "comparator": comparator} | changes}}


@pytest.mark.parametrize("slug", HASHES)
def test_a_shipped_workload_keeps_its_hash(slug):
    assert shipped_workload(slug).hash == HASHES[slug]


def test_nothing_else_ships():
    assert set(shipped_workloads()) == set(HASHES)


@pytest.mark.parametrize("slug", HASHES)
def test_a_shipped_workload_round_trips(slug):
    workload = shipped_workload(slug)
    assert workload.name == slug
    assert Workload.load(workload.dump()) == workload
    assert Workload.load(workload.dump()).hash == workload.hash


@pytest.mark.parametrize("slug", HASHES)
def test_a_shipped_workload_has_timed_hidden_and_odd_cases(slug):
    workload = shipped_workload(slug)
    shown = [case for case in workload.cases if not case.hidden]
    assert next(case.name for case in shown if case.timed) == "main"
    assert len([case for case in shown if case.timed]) >= 2
    assert any(case.hidden for case in workload.cases)
    assert any(any(size % 2 for size in case.axes.values()) for case in shown)


@pytest.mark.parametrize("slug", HASHES)
def test_the_reference_defines_run_over_the_inputs(slug):
    workload = shipped_workload(slug)
    functions = [node for node in ast.parse(workload.reference).body if isinstance(node, ast.FunctionDef)]
    expected = {"run", workload.custom_inputs_entrypoint} - {None}
    assert {one.name for one in functions} == expected
    (run,) = [one for one in functions if one.name == "run"]
    assert [argument.arg for argument in run.args.args] == list(workload.inputs)


def test_hidden_cases_are_not_shown():
    shown = shipped_workload("softmax").public()
    assert "hidden_spread" not in str(shown)
    assert shown["cases"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"inputs": {"x": {"shape": ["M", "Q"], "dtype": "float32"}}}, "axis Q is not among the axes"),
        ({"cases": [{"name": "a", "axes": {"M": 1}}]}, "axes must be exactly"),
        ({"cases": [{"name": "a", "axes": {"M": 1, "N": 2}}] * 2}, "two cases share a name"),
        ({"cases": [{"name": "a", "axes": {"M": 1, "N": -1}}]}, "greater than or equal to 0"),
        (
            {"cases": [{"name": "a", "axes": {"M": 1, "N": 2}, "inputs": {"z": {"type": "random"}}}]},
            "unknown inputs",
        ),
        ({"cases": []}, "at least 1 item"),
        ({"outputs": {}}, "at least 1 item"),
        ({"tolerance": {"scale": -1.0}}, "greater than 0"),
        ({"colour": "red"}, "Extra inputs"),
        (made({"type": "random", "low": 0}), "low and high go together"),
        (made({"type": "random", "low": 4, "high": 4}), "no integer is at least 4"),
        (made({"type": "random", "low": 0, "high": 4}), "x is no integer"),
        (compared({"type": "topk_set", "of": "x"}), "topk_set takes int32 and int64"),
        (compared({"type": "topk_set", "of": "z"}, dtype="int64"), "there is no input z"),
        (compared({"type": "residual", "matrix": "x", "right": "b"}), "there is no input b"),
        (compared({"type": "close"}, dtype="int64"), "int64 has no tolerance"),
        (compared({"type": "permutation"}, shape=None), "a scalar has no rows for permutation"),
        (compared({"type": "distribution"}), "does not match any of the expected tags"),
        (
            {"inputs": {"x": {"shape": ["M", "N"], "dtype": "float32", "comparator": {"type": "exact"}}}},
            "only outputs are compared",
        ),
    ],
)
def test_an_inconsistent_workload_does_not_construct(changes, words):
    with pytest.raises(ValidationError, match=words):
        Workload.load(softmax(**changes))


def test_sizes_follow_constants_cases_and_expressions():
    document = softmax()
    document["axes"] = {
        "M": {"type": "var"},
        "N": {"type": "const", "value": 6},
        "H": {"type": "expr", "expression": "(M + 1) * N // 4 - 2"},
    }
    document["cases"] = [{"name": "a", "axes": {"M": 3}}]
    workload = Workload.load(document)
    assert workload.sizes(workload.cases[0]) == {"M": 3, "N": 6, "H": 4}


def test_a_computed_axis_may_stand_before_what_it_is_computed_from():
    axes = {"H": {"type": "expr", "expression": "M * N"}, "M": {"type": "var"}, "N": {"type": "var"}}
    workload = Workload.load(softmax(axes=axes, cases=[{"name": "a", "axes": {"M": 0, "N": 7}}]))
    assert workload.sizes(workload.cases[0]) == {"H": 0, "M": 0, "N": 7}


def test_empty_fields_of_foreign_formats_are_not_in_the_json():
    document = shipped_workload("softmax").dump()
    assert "custom_inputs_entrypoint" not in document
    assert not {"uuid", "tolerance"} & set(document["cases"][0])
    assert "comparator" not in document["outputs"]["y"]
    assert not {"low", "high"} & set(document["cases"][0]["inputs"]["x"])


def test_custom_inputs_need_an_entry_point():
    case = {"name": "a", "axes": {"M": 1, "N": 2}, "inputs": {"x": {"type": "custom"}}}
    with pytest.raises(ValidationError, match="x is custom, but no entry point makes it"):
        Workload.load(softmax(cases=[case]))
    Workload.load(softmax(cases=[case], custom_inputs_entrypoint="make"))


@given(st.integers(1, 50), st.integers(1, 50), st.integers(1, 9))
def test_expressions_are_integer_arithmetic(m, n, d):
    sizes = {"M": m, "N": n}
    assert evaluate_expression(f"M * ({n} + N) // {d} - M", sizes) == m * (n + n) // d - m


@pytest.mark.parametrize(
    "text",
    [
        "",
        "M +",
        "(M",
        "M)",
        "Q",
        "M // 0",
        "M; N",
        "__import__",
        "M ** 99",
        "M ** M ** 64",
        "M / 3",
        "True",
        "M < 2",
    ],
)
def test_other_expressions_are_refused(text):
    with pytest.raises(ValueError, match="expression"):
        evaluate_expression(text, {"M": 2})
