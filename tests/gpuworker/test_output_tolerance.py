"""An output with a tolerance of its own, and hard values where a right answer holds -inf."""

from __future__ import annotations

import pytest
import torch
from conftest import SOFTMAX
from pydantic import ValidationError

from gpuworker import layout, yardstick
from gpuworker.compare import expect_all
from gpuworker.contender import Patience
from gpuworker.devices.cpu import CpuArena
from gpuworker.inputs import Flavour
from gpuworker.specimen import Specimen
from search.workload import DType, Tensor, Tolerance, Workload, shipped_workload

FINE = Tolerance(scale=1.0, relative=1e-6, frobenius=1e-6)
HALF = Tensor(shape=("M", "N"), dtype=DType.BFLOAT16)
SUMS = Tensor(shape=("M",), dtype=DType.FLOAT32, tolerance=FINE)
TWO = SOFTMAX.model_copy(
    update={
        "outputs": {"y": HALF, "sums": SUMS},
        "tolerance": Tolerance(scale=1.0, relative=0.02, frobenius=0.02),
    }
)
CASE = TWO.cases[1]
PATIENCE = Patience(1e9, 10.0)


def expected(golden, sums):
    return expect_all(TWO, CASE, [torch.zeros(5, 33)], [golden, sums])


def test_each_output_is_held_to_its_own_tolerance():
    values, sums = torch.rand(5, 33, dtype=torch.float64) + 1, torch.rand(5, dtype=torch.float64) + 1
    loose, fine = expected(values, sums)
    assert loose.is_right((values * 1.01).bfloat16(), 1.0)
    assert not fine.is_right((sums * 1.001).float(), 1.0)
    assert fine.is_right(sums.float(), 1.0)


def test_a_log_sum_exp_beside_half_precision_is_held_to_float32():
    lse = shipped_workload("gqa_paged_decode").outputs["lse"]
    assert lse.tolerance is not None
    golden = 10.0 + torch.rand(4, 32, dtype=torch.float64)
    outputs = {"lse": lse.model_copy(update={"shape": ("M", "N")})}
    workload = TWO.model_copy(update={"outputs": outputs})
    (bound,) = expect_all(workload, CASE, [torch.zeros(5, 33)], [golden])
    assert bound.is_right(golden.float(), 0.25)
    assert not bound.is_right(golden.bfloat16().float(), 1.0)
    assert not bound.is_right(golden.half().float(), 1.0)


@pytest.mark.parametrize(
    ("kind", "tensor", "message"),
    [
        ("outputs", {"dtype": "int32"}, "compared exactly"),
        ("inputs", {"dtype": "float32"}, "only outputs are compared"),
    ],
)
def test_a_tolerance_where_nothing_is_compared_does_not_construct(kind, tensor, message):
    document = SOFTMAX.dump()
    name = next(iter(document[kind]))
    document[kind][name] |= tensor | {"tolerance": FINE.dump()}
    with pytest.raises(ValidationError, match=message):
        Workload.load(document)


def test_without_one_the_document_is_as_before():
    assert "tolerance" not in SOFTMAX.dump()["outputs"]["y"]


# Hard values --------------------------------------------------------------------------------------


class Baseline:
    """Answers every specimen right."""

    may_write_inputs = False

    def __init__(self):
        self.layout = layout.plan(TWO, {CASE.name: 1})
        self.arena = CpuArena(self.layout, sealed=True)
        self.answers = []

    def run(self, order, patience):
        for output, value in zip(self.arena.outputs(0), self.answers.pop(0), strict=True):
            output.copy_(value)
        return 1e-3

    def log(self):
        return ""


def kept(declared, *hard):
    """Flavours that stay, given golden sums of a declared specimen and of hard ones."""
    baseline, specimens = Baseline(), []
    flavours = [Flavour.DECLARED, Flavour.LARGE, Flavour.TINY, Flavour.ZEROS]
    for flavour, sums in zip(flavours, (declared, *hard), strict=False):
        golden = [torch.ones(5, 33, dtype=torch.float64), torch.tensor(sums, dtype=torch.float64)]
        specimens.append(Specimen(CASE.name, False, flavour, [torch.zeros(5, 33)], expected(*golden)))
        baseline.answers.append(golden)
    found = yardstick._legal(baseline, specimens, PATIENCE)
    return [one.flavour for one in found if one.flavour is not Flavour.DECLARED]


NORMAL, MASKED = [1.0] * 5, [1.0, -torch.inf, 1.0, 1.0, 1.0]


def test_hard_values_stay_where_declared_ones_give_minus_infinity_too():
    assert kept(MASKED, MASKED, NORMAL) == [Flavour.LARGE, Flavour.TINY]


def test_hard_values_go_where_only_they_give_minus_infinity():
    assert kept(NORMAL, MASKED) == []


def test_hard_values_that_give_a_nan_go_in_any_case():
    assert kept(MASKED, [1.0, torch.nan, 1.0, 1.0, 1.0]) == []
