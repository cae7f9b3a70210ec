"""The named comparators and the foreign tolerance: what each takes, what each refuses, and empty outputs."""

from __future__ import annotations

import math

import pytest
import torch

from gpuworker.comparators.question import Question
from gpuworker.comparators.registry import COMPARATORS, expect
from gpuworker.compare import is_right, wrong_elements
from search.workload import CaseTolerance, DType, PlainComparator, Residual, Tolerance, TopkSet

TOLERANCE = Tolerance(scale=32.0, relative=1e-4, frobenius=1e-4)
X = torch.tensor([[3.0, 1.0, 3.0, 2.0, 0.0], [5.0, 5.0, 5.0, 5.0, 9.0]])
PLACES = torch.tensor([[0, 2, 3], [4, 0, 1]])


def asked(golden, dtype=DType.FLOAT32, **more):
    return expect(Question(golden, dtype, TOLERANCE, **more))


@pytest.mark.parametrize("name", COMPARATORS)
def test_an_empty_output_is_right(name):
    empty = torch.zeros(0, 4, dtype=torch.float64)
    comparator, inputs, dtype = None, {}, DType.FLOAT32
    match name:
        case "topk_set":
            comparator, dtype, empty = TopkSet(of="x"), DType.INT64, torch.zeros(0, 4, dtype=torch.int64)
            inputs = {"x": torch.zeros(0, 9)}
        case "residual":
            comparator = Residual(matrix="a", right="b")
            inputs = {"a": torch.zeros(0, 0), "b": torch.zeros(0, 4)}
        case _:
            comparator = PlainComparator(type=name)
    bounds = asked(empty, dtype, comparator=comparator, inputs=inputs)
    assert is_right(empty.to(torch.int64 if dtype is DType.INT64 else torch.float32), bounds)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 5)])
def test_empty_rows_and_columns_are_close(shape):
    assert is_right(torch.zeros(shape), asked(torch.zeros(shape, dtype=torch.float64)))


def test_a_scalar_is_close_to_itself():
    bounds = asked(torch.tensor(2.5, dtype=torch.float64))
    assert is_right(torch.tensor(2.5), bounds)
    assert not is_right(torch.tensor(2.6), bounds)


def test_large_outputs_are_compared_in_pieces_to_the_last_row():
    golden = torch.ones(5000, 1024, dtype=torch.float64)
    output = golden.float()
    bounds = asked(golden)
    assert is_right(output, bounds)
    output[4999, 1023] = 1.1
    assert not is_right(output, bounds)
    assert wrong_elements(output, bounds).nonzero().tolist() == [[4999, 1023]]


def test_a_float64_output_keeps_its_golden_values_when_the_oracle_writes_on():
    golden = torch.ones(2, 3, dtype=torch.float64)
    bounds = asked(golden, DType.FLOAT64)
    golden.zero_()
    assert is_right(torch.ones(2, 3, dtype=torch.float64), bounds)


def test_exact_floats_are_equal_and_nan_equals_nan():
    golden = torch.tensor([1.0, math.nan, -math.inf], dtype=torch.float64)
    bounds = asked(golden, comparator=PlainComparator(type="exact"))
    assert is_right(golden.float(), bounds)
    assert not is_right(torch.tensor([1.0000001, math.nan, -math.inf]), bounds)


def test_a_permutation_may_reorder_rows_but_not_mix_them():
    golden = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=torch.float64)
    bounds = asked(golden, comparator=PlainComparator(type="permutation"))
    assert is_right(torch.tensor([[3.0, 1.0, 2.0], [5.0, 4.0, 6.0]]), bounds)
    assert not is_right(torch.tensor([[4.0, 1.0, 2.0], [5.0, 3.0, 6.0]]), bounds)
    wrong = wrong_elements(torch.tensor([[3.0, 1.0, 2.5], [5.0, 4.0, 6.0]]), bounds)
    assert wrong.tolist() == [[False, False, True], [False, False, False]]


def test_integers_may_be_permuted_too():
    bounds = asked(torch.tensor([[1, 2, 2]]), DType.INT32, comparator=PlainComparator(type="permutation"))
    assert is_right(torch.tensor([[2, 1, 2]], dtype=torch.int32), bounds)
    assert not is_right(torch.tensor([[2, 1, 1]], dtype=torch.int32), bounds)


@pytest.mark.parametrize(
    ("first", "second", "as_set", "in_order"),
    [
        ([0, 2, 3], [4, 0, 1], True, True),
        ([2, 0, 3], [4, 3, 2], True, True),
        ([3, 0, 2], [0, 4, 1], True, False),
        ([0, 0, 3], [4, 0, 1], False, False),
        ([0, 2, 1], [4, 0, 1], False, False),
        ([0, 2, 5], [4, 0, 1], False, False),
        ([0, 2, -2], [4, 0, 1], False, False),
    ],
)
def test_places_of_equal_elements_are_as_good(first, second, as_set, in_order):
    output = torch.tensor([first, second])
    for ordered, right in ((False, as_set), (True, in_order)):
        comparator = TopkSet(of="x", ordered=ordered)
        bounds = asked(PLACES, DType.INT64, comparator=comparator, inputs={"x": X})
        assert is_right(output, bounds) is right
        assert bool(wrong_elements(output, bounds).any()) is not right


def solved(size=12, columns=3):
    generator = torch.Generator().manual_seed(5)
    matrix, right = (torch.randn(size, n, generator=generator) for n in (size, columns))
    golden = torch.linalg.solve(matrix.double(), right.double())
    comparator = Residual(matrix="a", right="b")
    return golden, asked(golden, comparator=comparator, inputs={"a": matrix, "b": right}), matrix, right


def test_a_solution_counts_by_its_residual():
    golden, bounds, matrix, right = solved()
    assert is_right(torch.linalg.solve(matrix, right), bounds)
    assert not is_right(golden.float() * 1.01, bounds)
    assert not is_right(torch.zeros_like(right), bounds)
    assert not is_right(golden.float() * 1e20, bounds)
    assert not is_right(torch.full_like(right, math.nan), bounds)


def test_an_ill_conditioned_system_has_many_good_solutions():
    size = 8
    matrix = 1.0 / (torch.arange(size)[:, None] + torch.arange(size) + 1.0)
    right = torch.ones(size, 1)
    golden = torch.linalg.solve(matrix.double(), right.double())
    output = torch.linalg.solve(matrix, right)
    comparator = Residual(matrix="a", right="b")
    assert not is_right(output, asked(golden))
    assert is_right(output, asked(golden, comparator=comparator, inputs={"a": matrix, "b": right}))


GOLDEN = torch.linspace(1, 2, 100, dtype=torch.float64).reshape(10, 10)


def matched(golden=GOLDEN, **allowed):
    return asked(golden, foreign=CaseTolerance(**allowed))


def test_a_case_may_bring_a_looser_rule():
    bounds = matched(max_atol=0.01, max_rtol=0.01)
    assert is_right(GOLDEN.float() + 0.015, bounds)
    assert not is_right(GOLDEN.float() + 0.04, bounds)
    assert not is_right(GOLDEN.float() + 0.015, asked(GOLDEN))


def test_a_share_of_the_elements_may_be_off_but_only_as_far_as_the_cap():
    output = GOLDEN.float()
    output[0, :5] += 1.0
    assert not is_right(output, matched(max_atol=0.01, required_matched_ratio=1.0))
    assert is_right(output, matched(max_atol=0.01, required_matched_ratio=0.95))
    assert not is_right(output, matched(max_atol=0.01, required_matched_ratio=0.96))
    assert not is_right(output, matched(max_atol=0.01, required_matched_ratio=0.95, max_error_cap=0.5))
    output[0, 0] = math.nan
    assert not is_right(output, matched(max_atol=0.01, required_matched_ratio=0.5))


def test_negative_infinity_matches_itself_only_where_the_case_says_so():
    golden = GOLDEN.clone()
    golden[3, 4] = -math.inf
    assert not is_right(golden.float(), matched(golden))
    assert is_right(golden.float(), matched(golden, allow_negative_inf=True))
    assert not is_right(GOLDEN.float(), matched(golden, allow_negative_inf=True))
