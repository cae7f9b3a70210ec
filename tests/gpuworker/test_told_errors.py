"""What is told of the errors of a right output."""

from __future__ import annotations

import math

import pytest
import torch

from gpuworker.compare import expect, is_right
from search.workload import DType, Tolerance

GOLDEN = torch.tensor([[1.0, 2.0, -4.0, 0.0], [8.0, 8.0, 8.0, 8.0]], dtype=torch.float64)
LOOSE = Tolerance(scale=1e-9, relative=0.1, frobenius=1.0)


def test_an_exact_output_has_no_error():
    assert expect(GOLDEN, DType.FLOAT32, LOOSE).errors(GOLDEN.float()) == {
        "max_abs": 0.0,
        "max_rel": 0.0,
        "used": 0.0,
    }


def test_the_largest_error_and_the_share_of_the_bound():
    output = GOLDEN.float()
    output[0, 2] -= 0.2
    output[1, 0] += 0.4
    told = expect(GOLDEN, DType.FLOAT32, LOOSE).errors(output)
    assert told == pytest.approx({"max_abs": 0.4, "max_rel": 0.05, "used": 0.5}, rel=1e-4)


def test_the_whole_may_be_nearer_to_its_bound_than_any_element():
    tight = Tolerance(scale=1e-9, relative=0.1, frobenius=0.05)
    told = expect(GOLDEN, DType.FLOAT32, tight).errors(GOLDEN.float() * 1.04)
    assert told["used"] == pytest.approx(0.8, rel=1e-4)
    assert told["max_rel"] == pytest.approx(0.04, rel=1e-4)


def test_elements_that_are_not_finite_have_no_error():
    golden = GOLDEN.clone()
    golden[0, 0], golden[0, 1] = math.inf, math.nan
    expected = expect(golden, DType.FLOAT32, LOOSE)
    output = golden.float()
    output[1, 1] = 8.4
    assert is_right(output, expected)
    told = expected.errors(output)
    assert told == pytest.approx({"max_abs": 0.4, "max_rel": 0.05, "used": 0.5}, rel=1e-4)


def test_what_is_right_never_uses_more_than_all():
    draw = torch.Generator().manual_seed(3)
    for _ in range(50):
        golden = torch.randn(7, 33, generator=draw, dtype=torch.float64)
        expected = expect(golden, DType.FLOAT32, Tolerance(scale=8.0, relative=1e-5, frobenius=1e-6))
        output = (golden + torch.randn(golden.shape, generator=draw) * 6e-7).float()
        assert is_right(output, expected) is (expected.errors(output)["used"] <= 1)


def test_an_empty_output_has_no_error():
    empty = torch.empty(0, 4, dtype=torch.float64)
    assert expect(empty, DType.FLOAT32, LOOSE).errors(empty.float())["max_abs"] == 0.0
