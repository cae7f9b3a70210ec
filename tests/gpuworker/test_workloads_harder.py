"""Harder workloads in the judge: custom inputs, empty axes, foreign tolerances, kernels that differ from call to call."""

from __future__ import annotations

import pytest
import torch

from gpuworker.inputs import Flavour, draw, secret_generator
from search.records import Language
from search.workload import (
    Case,
    CaseTolerance,
    CustomInput,
    DType,
    Policy,
    RandomInput,
    Tensor,
    VarAxis,
    shipped_workload,
)

SOFTMAX = shipped_workload("softmax").model_copy(update={"policy": Policy(torch_ops=True)})
MAKER = """

def make_inputs(axes, device):
    order = torch.randperm(axes["M"]).to(device)
    return {"index": order, "keep": torch.rand(axes["N"]) < 0.5}
"""

GATHER = SOFTMAX.model_copy(
    update={
        "axes": {"M": VarAxis(), "N": VarAxis()},
        "inputs": {
            "x": Tensor(shape=("M", "N"), dtype=DType.FLOAT32),
            "index": Tensor(shape=("M",), dtype=DType.INT64),
            "keep": Tensor(shape=("N",), dtype=DType.BOOL),
        },
        "reference": "import torch\n\ndef run(x, index, keep):\n    return x[index] * keep\n" + MAKER,
        "custom_inputs_entrypoint": "make_inputs",
        "cases": tuple(
            Case(
                name=name,
                axes={"M": m, "N": n},
                inputs={"index": CustomInput(), "keep": CustomInput()},
                timed=False,
                hidden=hidden,
            )
            for name, m, n, hidden in (("few", 5, 7, False), ("empty", 0, 3, False), ("hidden", 40, 9, True))
        ),
    }
)
SOURCE = "def run(x, index, keep, y):\n    y.copy_(x[index] * keep)\n"


def judged(judge, source, workload):
    return judge(source, Language.PYTORCH, workload=workload)


def test_custom_inputs_are_made_by_the_workloads_own_source(judge):
    right = judged(judge, SOURCE, GATHER)
    assert right.status == "UNTIMED", right.message + right.log
    wrong = judged(judge, SOURCE.replace("x[index]", "x"), GATHER)
    assert wrong.status == "INCORRECT_NUMERICAL"


@pytest.mark.parametrize(
    ("text", "instead", "said"),
    [
        ('"index": order', '"other": order', "shape"),
        ('torch.randperm(axes["M"])', "torch.arange(3)", "shape"),
        ('torch.randperm(axes["M"])', 'torch.randperm(axes["M"]).int()', "type"),
        ("order = ", "raise ValueError; order = ", "raised"),
        ("make_inputs", "make_others", "loaded"),
        ("return {", "import os; os._exit(0)\n    return {", "left"),
    ],
)
def test_a_source_that_makes_bad_inputs_is_the_workloads_fault(judge, text, instead, said):
    broken = GATHER.model_copy(update={"reference": GATHER.reference.replace(text, instead)})
    evaluation = judged(judge, SOURCE, broken)
    assert evaluation.status == "INVALID_REFERENCE"
    assert said in evaluation.message


def test_nan_in_a_custom_input_is_the_workloads_fault(judge):
    case = Case(name="one", axes={"M": 2, "N": 3}, inputs={"x": CustomInput()}, timed=False)
    source = SOFTMAX.reference + "\ndef make_inputs(axes, device):\n"
    source += "    return {'x': torch.full((axes['M'], axes['N']), float('nan'))}\n"
    changes = {"cases": (case,), "reference": source, "custom_inputs_entrypoint": "make_inputs"}
    evaluation = judged(judge, "def run(x, y):\n    pass\n", SOFTMAX.model_copy(update=changes))
    assert evaluation.status == "INVALID_REFERENCE"
    assert "NaN in its custom input `x`" in evaluation.message


def untimed(**changes):
    case = Case(name="one", axes={"M": 9, "N": 33}, timed=False, **changes)
    return SOFTMAX.model_copy(update={"cases": (case,)})


ROUGH = "def run(x, y):\n    y.copy_(x.softmax(-1) * 1.005)\n"


def test_a_case_with_a_tolerance_of_its_own_is_judged_by_it(judge):
    loose = untimed(tolerance=CaseTolerance(max_atol=0.0, max_rtol=0.01))
    assert judged(judge, ROUGH, loose).status == "UNTIMED"
    assert judged(judge, ROUGH.replace("1.005", "1.02"), loose).status == "INCORRECT_NUMERICAL"
    assert judged(judge, ROUGH, untimed()).status == "INCORRECT_NUMERICAL"


NOISY = """calls = []

def run(x, y):
    calls.append(0)
    y.copy_(x.softmax(-1) * (1 + 1e-6 * (len(calls) % 2)))
"""


def test_a_kernel_that_differs_from_call_to_call_needs_leave(judge):
    evaluation = judged(judge, NOISY, untimed())
    assert evaluation.status == "NONDETERMINISTIC"
    assert "elements of `y` differ between two calls on the same values in case one" in evaluation.message
    allowed = untimed().model_copy(update={"policy": Policy(torch_ops=True, deterministic=False)})
    assert judged(judge, NOISY, allowed).status == "UNTIMED"


def test_integers_are_drawn_from_their_range():
    tensor = {"x": Tensor(shape=("M", "N"), dtype=DType.INT64)}
    case = Case(name="one", axes={"M": 50, "N": 50}, inputs={"x": RandomInput(low=3, high=6)}, timed=False)
    workload = SOFTMAX.model_copy(update={"inputs": tensor, "cases": (case,)})
    (value,) = draw(workload, case, Flavour.LARGE, secret_generator())
    assert sorted(set(value.reshape(-1).tolist())) == [3, 4, 5]


def test_cauchy_values_have_heavy_tails():
    case = Case(
        name="one", axes={"M": 100, "N": 100}, inputs={"x": RandomInput(distribution="cauchy", scale=2.0)}
    )
    (value,) = draw(SOFTMAX, case, Flavour.DECLARED, secret_generator())
    assert float(value.abs().max()) > 200
    assert 1.5 < float(value.abs().median()) < 2.5


@pytest.mark.parametrize("flavour", Flavour)
def test_empty_inputs_are_drawn(flavour):
    for sizes in ({"M": 0, "N": 4}, {"M": 4, "N": 0}):
        case = Case(name="one", axes=sizes, timed=False)
        (value,) = draw(SOFTMAX, case, flavour, secret_generator())
        assert value.shape == torch.Size(sizes.values())
