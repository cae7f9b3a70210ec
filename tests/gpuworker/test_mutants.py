"""Mutants are wrong where they should be, and the page tells what became of them."""

from __future__ import annotations

import pytest
import torch

from gpuworker.mutants import command, markdown, rounding
from gpuworker.mutants.outputs import PLACES, VALUES
from search.validation import Honest, MutantResult, Outcome, SelfTest
from search.workload import DType

GENERATOR = torch.Generator().manual_seed(3)
GOLDEN, OTHER = (torch.randn(6, 70, generator=GENERATOR) for _ in range(2))


@pytest.mark.parametrize("name", [*VALUES, *PLACES])
def test_a_spoiled_output_keeps_shape_and_type_and_differs(name):
    before = GOLDEN.clone()
    spoiled = (VALUES | PLACES)[name](GOLDEN, OTHER)
    assert (spoiled.shape, spoiled.dtype) == (GOLDEN.shape, GOLDEN.dtype)
    assert not torch.equal(spoiled, GOLDEN)
    assert torch.equal(GOLDEN, before)


@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 0), (1, 1, 1)])
@pytest.mark.parametrize("name", [*VALUES, *PLACES])
def test_any_shape_is_spoiled_or_left_alone(name, shape):
    value = torch.ones(shape)
    spoiled = (VALUES | PLACES)[name](value, value)
    assert spoiled is None or spoiled.shape == value.shape


def test_the_last_tile_is_the_ragged_one():
    spoiled = PLACES["last tile of the last axis zero"](GOLDEN, OTHER)
    assert torch.equal(spoiled[:, :64], GOLDEN[:, :64])
    assert not bool(spoiled[:, 64:].any())


def test_one_row_and_one_element():
    row = PLACES["one row of another seed"](GOLDEN, OTHER)
    assert (row != GOLDEN).any(1).tolist() == [False, False, False, True, False, False]
    element = PLACES["one element zero"](GOLDEN, OTHER)
    assert int((element != GOLDEN).sum()) == 1


# Precision ----------------------------------------------------------------------------------------


def ran(reference, behind, *inputs):
    """What a reference with this text behind it gives for inputs widened as the oracle's adapter does."""
    names = {}
    exec(reference + behind, names)
    return names["run"](*(value.double() for value in inputs))


PRODUCT = "import torch\n\ndef run(a, b):\n    return a @ b\n"


def test_results_are_rounded_to_the_narrow_type():
    wrong = ran(PRODUCT, rounding.lowered(DType.FLOAT32)["every result in bfloat16"], GOLDEN, OTHER.T)
    assert torch.equal(wrong, wrong.bfloat16().double())
    assert not torch.equal(wrong, GOLDEN.double() @ OTHER.T.double())


def test_inputs_alone_are_rounded():
    wrong = ran(PRODUCT, rounding.lowered(DType.FLOAT32)["inputs read as float16"], GOLDEN, OTHER.T)
    assert torch.equal(wrong, GOLDEN.half().double() @ OTHER.T.half().double())


def test_tf32_keeps_ten_bits_of_the_operands_of_products():
    behind = rounding.lowered(DType.FLOAT32)["matrix products in tf32"]
    one = torch.tensor([[1.0 + 2.0**-10]])
    assert ran(PRODUCT, behind, one, torch.ones(1, 1)).item() == 1.0 + 2.0**-10
    finer = torch.tensor([[1.0 + 2.0**-12]])
    assert ran(PRODUCT, behind, finer, torch.ones(1, 1)).item() == 1.0
    untouched = ran("def run(x):\n    return x.exp()\n", behind, GOLDEN)
    assert torch.equal(untouched, GOLDEN.double().exp())


@pytest.mark.parametrize(
    "reference",
    [
        "def run(x):\n    return x.sum(-1)\n",
        "def run(x):\n    return x.mean(-1, keepdim=True)\n",
        "def run(x):\n    return x.sum()\n",
        "import torch\n\ndef run(x):\n    return torch.cumsum(x, -1)\n",
        "import torch\n\ndef run(x):\n    return torch.nn.functional.linear(x, x, x[:, 0])\n",
    ],
)
def test_sums_are_kept_in_the_narrow_type(reference):
    behind = rounding.lowered(DType.BFLOAT16)["sums kept in bfloat16"]
    value = torch.rand(40, 1000, generator=GENERATOR)
    right, wrong = ran(reference, "", value), ran(reference, behind, value)
    assert wrong.shape == right.shape
    error = ((wrong - right).abs() / right.abs()).max()
    assert 2**-10 < error < 0.1


def test_what_is_written_through_a_view_arrives():
    reference = "import torch\n\ndef run(x):\n    y = torch.zeros_like(x)\n    for i in range(len(x)):\n"
    reference += "        y[i] = x[i] * 2\n    return y\n"
    wrong = ran(reference, rounding.lowered(DType.FLOAT32)["every result in float16"], GOLDEN)
    assert torch.equal(wrong, (GOLDEN.half().double() * 2).half().double())


def test_every_float_type_has_less_precise_ones():
    for dtype in (DType.FLOAT64, DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16):
        assert len(rounding.lowered(dtype)) >= 3
    assert rounding.lowered(DType.INT64) == {}


def test_tf32_is_no_mutant_where_it_is_allowed():
    strict, free = rounding.lowered(DType.FLOAT32), rounding.lowered(DType.FLOAT32, tf32=True)
    assert strict.keys() - free.keys() == {"matrix products in tf32"}


# Report -------------------------------------------------------------------------------------------


def result(name, outcome=Outcome.KILLED, error=25.0):
    return MutantResult(
        name=name,
        group="values",
        outcome=outcome,
        specimens=3,
        rejections=3 if outcome is Outcome.KILLED else 0,
        case="main",
        values="declared",
        error=error,
    )


def selftest(*mutants, error=0.1, few=0.2):
    return SelfTest(
        workload="softmax",
        hash="0" * 64,
        device="a processor",
        cases=("main",),
        left_out=("huge",),
        specimens=3,
        honest=Honest(case="main", values="declared", error=error),
        honest_few=Honest(case="odd", values="tiny", error=few),
        scale=32.0,
        least_scale=1.0,
        mutants=mutants,
    )


def test_a_survivor_that_nobody_explained_fails():
    test = selftest(result("zeros"), result("sly", Outcome.SURVIVED, 0.5))
    assert list(command.faults(test)) == ["softmax: survivor not explained: sly"]
    assert command.report([test], 1 << 20, None, as_json=False)[1] == 1
    assert command.report([selftest(result("zeros"))], 1 << 20, None, as_json=False)[1] == 0


def test_a_thin_margin_fails():
    assert list(command.faults(selftest(result("zeros"), error=0.5))) == [
        "softmax: the eager reference has a margin of 2, not 4, in case main, values declared"
    ]
    assert len(list(command.faults(selftest(result("zeros"), error=None)))) == 1


def test_few_elements_need_half_the_margin():
    assert list(command.faults(selftest(result("zeros"), few=0.5))) == []
    assert "not 2, in case odd" in next(command.faults(selftest(result("zeros"), few=0.6)))


def test_the_page_tells_scores_survivors_and_what_was_left_out(tmp_path):
    test = selftest(
        result("zeros", error=None),
        result("sly", Outcome.SURVIVED, 0.5),
        MutantResult(name="idle", group="values", outcome=Outcome.NO_EFFECT),
    )
    command.report([test], 16 << 20, tmp_path / "page.md", as_json=False)
    page = (tmp_path / "page.md").read_text()
    assert "more than 16 MiB are left out" in page
    assert (
        "| [softmax](#softmax) | 1 of 2 | 10 (main, declared) | 5 (odd, tiny) | 32 | 1 | 3 | huge |" in page
    )
    assert "| softmax | sly | 0.5 | **not explained** |" in page
    assert "| zeros | killed | 3 of 3 | main, declared | pattern |" in page
    assert "No effect: idle." in page
    assert page == markdown.page([test], 16 << 20)
