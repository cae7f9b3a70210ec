"""Operators that a cell told of: ranked, offered where they can be, and believed in nothing."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from search.formats.operators import Operator, rank, workload_of
from search.workload import Workload

HALF = {"shape": [64, 128], "dtype": "float16"}
INDEX = {"shape": [9], "dtype": "int64", "low": 0, "high": 64}
SOFTMAX = {
    "name": "aten._softmax.default",
    "args": [HALF, {"plain": -1}, {"plain": False}],
    "outputs": [HALF],
    "calls": 1.0,
    "seconds": 6e-6,
}
EMBEDDING = {
    "name": "aten.embedding.default",
    "args": [HALF, INDEX],
    "outputs": [{"shape": [9, 128], "dtype": "float16"}],
    "calls": 2.0,
    "seconds": 3e-6,
}
VIEW = {"name": "aten.t.default", "args": [HALF], "outputs": [HALF], "calls": 1.0, "seconds": 1e-6}


def test_a_share_of_the_time_bounds_the_gain():
    ranked, workloads = rank([VIEW, EMBEDDING, SOFTMAX], "model")
    assert [row.operator.name for row in ranked] == [SOFTMAX["name"], EMBEDDING["name"], VIEW["name"]]
    assert [round(row.share, 2) for row in ranked] == [0.6, 0.3, 0.1]
    assert [round(row.limit, 2) for row in ranked] == [2.5, 1.43, 1.11]
    assert [one.op_type for one in workloads] == ["_softmax", "embedding"]
    assert "computes nothing" in ranked[2].why
    assert len(rank([EMBEDDING, SOFTMAX], "model", most=1)[1]) == 1


def test_an_operator_becomes_a_workload_that_calls_it():
    workload = workload_of(Operator.load(EMBEDDING), "model")
    assert Workload.load(workload.dump()).hash == workload.hash
    assert "torch.ops.aten.embedding.default(x0, x1)" in workload.reference
    indices = workload.cases[0].inputs["x1"]
    assert (indices.low, indices.high) == (0, 64)
    assert workload.shape(workload.outputs["y0"], workload.sizes(workload.cases[0])) == (9, 128)
    compile(workload.reference, "reference", "exec")
    assert "(x0, -1, False)" in workload_of(Operator.load(SOFTMAX), "model").reference


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "aten.relu_.default"}, "writes into its inputs"),
        ({"args": [HALF, {"strange": "Generator"}]}, "takes a Generator"),
        ({"args": [HALF, {"plain": "x); import os; ("}]}, "no name"),
        ({"args": []}, "no tensor"),
        ({"outputs": [{"value": 3}]}, "no tensor"),
    ],
)
def test_what_cannot_be_offered_says_why(change, words):
    ranked, workloads = rank([SOFTMAX | change], "model")
    assert workloads == []
    assert words in ranked[0].why


@pytest.mark.parametrize(
    "told",
    [
        {},
        SOFTMAX | {"name": "os.system"},
        SOFTMAX | {"name": "aten.x.default()\nimport os"},
        SOFTMAX | {"seconds": -1},
        SOFTMAX | {"args": [{"shape": [-1], "dtype": "float16"}]},
        SOFTMAX | {"args": [{"shape": [1] * 17, "dtype": "float16"}]},
        SOFTMAX | {"args": [{"shape": [1], "dtype": "complex64"}]},
        SOFTMAX | {"named": {"a=1, b": {"plain": 1}}},
    ],
)
def test_nonsense_of_a_cell_is_refused(told):
    with pytest.raises(ValidationError):
        rank([told], "model")
