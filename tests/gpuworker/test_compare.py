"""The correctness rule kills the mutants it must, and says what is wrong."""

from __future__ import annotations

import pytest
import torch

from gpuworker.compare import expect, is_right, wrong_elements
from gpuworker.patterns import explain
from search.workload import DType, Tolerance

TOLERANCE = Tolerance(scale=32.0, relative=1e-4, frobenius=1e-4)


def golden():
    generator = torch.Generator().manual_seed(7)
    return torch.softmax(torch.randn(16, 96, generator=generator, dtype=torch.float64), -1)


def expected(value=None):
    return expect(golden() if value is None else value, DType.FLOAT32, TOLERANCE)


def test_the_right_output_is_right():
    assert is_right(golden().float(), expected())
    assert is_right(golden().float() * (1 + 1e-6), expected())


MUTANTS = {
    "zeros": lambda y: torch.zeros_like(y),
    "ones": lambda y: torch.ones_like(y),
    "mean": lambda y: torch.full_like(y, float(y.mean())),
    "up": lambda y: y * 1.01,
    "down": lambda y: y * 0.99,
    "shifted": lambda y: y.roll(1, 0),
    "half": lambda y: y.bfloat16().float(),
    "row": lambda y: torch.cat([y[:-1], y[:1]]),
    "nan": lambda y: y.clone().fill_(torch.nan),
    "one nan": lambda y: y.index_put((torch.tensor(3), torch.tensor(4)), torch.tensor(torch.nan)),
    "one inf": lambda y: y.index_put((torch.tensor(3), torch.tensor(4)), torch.tensor(torch.inf)),
    "tail": lambda y: torch.cat([y[:, :-3], torch.zeros(16, 3)], 1),
    "seed": lambda y: torch.softmax(torch.randn(16, 96), -1),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_killed(name):
    output = MUTANTS[name](golden().float())
    assert not is_right(output, expected())
    assert bool(wrong_elements(output, expected()).any())


def test_infinities_must_be_where_they_belong():
    value = golden()
    value[2, 5] = -torch.inf
    bounds = expected(value)
    assert is_right(value.float(), bounds)
    assert not is_right(golden().float(), bounds)
    moved = golden().float()
    moved[2, 6] = -torch.inf
    assert not is_right(moved, bounds)


def test_an_infinite_element_does_not_excuse_its_row():
    value = golden()
    value[2, 5] = torch.inf
    output = value.float()
    output[2, 7] *= 1.01
    assert not is_right(output, expected(value))


@pytest.mark.parametrize("width", [1, 2, 4, 31])
def test_sums_in_float32_are_right_in_rows_of_any_width(width):
    """A sum near 0 has the error of the numbers it was made from; PyTorch's own product must be right."""
    generator = torch.Generator().manual_seed(3)
    for _ in range(20):
        a = torch.randn(130, 1024, generator=generator)
        b = torch.randn(1024, width, generator=generator)
        bounds = expect(a.double() @ b.double(), DType.FLOAT32, Tolerance())
        assert is_right(a @ b, bounds)
        assert not is_right((a.half() @ b.half()).float(), bounds)


def test_narrow_rows_share_with_neighbours_and_not_with_all():
    value = torch.ones(70, 1, dtype=torch.float64)
    value[:35] = 1e-3
    output = value.float()
    output[3] += 1e-6
    output[60] += 1e-6
    (wrong, _) = wrong_elements(output, expect(value, DType.FLOAT32, Tolerance())).nonzero(as_tuple=True)
    assert wrong.tolist() == [3]


def test_wide_rows_stand_alone():
    value = torch.ones(4, 32, dtype=torch.float64)
    value[1] = 1e-3
    bound = expect(value, DType.FLOAT32, Tolerance()).row_bound
    assert bound.shape == (4, 1)
    assert float(bound[0] / bound[1]) == pytest.approx(1e3)


def test_nan_where_the_reference_has_nan():
    value = golden()
    value[0, 0] = torch.nan
    assert is_right(value.float(), expected(value))
    assert not is_right(golden().float(), expected(value))


def test_integers_are_compared_exactly():
    value = torch.arange(12, dtype=torch.int64).reshape(3, 4)
    bounds = expect(value, DType.INT64, TOLERANCE)
    assert is_right(value.clone(), bounds)
    assert not is_right(value + (value == 7), bounds)


def said(output, unwritten=None):
    mask = torch.zeros(output.shape, dtype=torch.bool) if unwritten is None else unwritten
    return explain("y", output, expected(), mask)


def test_all_zeros_is_named():
    assert said(torch.zeros(16, 96)) == (
        "INCORRECT_NUMERICAL",
        "1536 of 1536 elements of `y` are wrong: all zeros",
    )


def test_a_constant_factor_is_named():
    assert "a constant factor of 2" in said(golden().float() * 2)[1]


def test_the_last_rows_are_named():
    output = golden().float()
    output[13:] = 1.0
    assert "all in the last 3 rows (from 13)" in said(output)[1]


def test_a_tile_edge_is_named():
    output = golden().float()
    output[:, ::32] = 1.0
    assert "at every 32th column from 0" in said(output)[1]


def test_what_was_never_written_is_named():
    output = golden().float()
    unwritten = torch.zeros(16, 96, dtype=torch.bool)
    unwritten[:, 90:] = True
    output[unwritten] = torch.nan
    assert (
        said(output, unwritten)[1]
        == "96 elements of `y` were never written, all in the last 6 columns (from 90)"
    )


def test_nan_is_its_own_status():
    output = golden().float()
    output[3] = torch.nan
    assert said(output)[0] == "NONFINITE"
