"""What agents tell of the cost model, and how it makes one structure be tried before another."""

from __future__ import annotations

import pytest

from search.agents.expected import MOST_FAVOUR, expected, favour
from search.cost import prior
from search.devices import H200
from search.library import compose, shipped_library, shipped_workload
from search.records import Language

WORKLOAD = shipped_workload("softmax_fp16")
RESIDENT = compose(WORKLOAD, shipped_library(), ("resident_row",), Language.TRITON)


def test_it_is_the_prior_of_the_first_timed_case_or_of_the_named_one():
    cases = {case.name: case for case in WORKLOAD.cases}
    assert expected(RESIDENT, WORKLOAD, "h200") == prior(RESIDENT, WORKLOAD, cases["main"], H200)
    assert expected(RESIDENT, WORKLOAD, "recorded:h200", "vocabulary") == prior(
        RESIDENT, WORKLOAD, cases["vocabulary"], H200
    )


@pytest.mark.parametrize(("device_class", "case"), [("abacus", ""), ("h200", "nowhere")])
def test_without_a_model_or_a_case_nothing_is_expected(device_class, case):
    assert expected(RESIDENT, WORKLOAD, device_class, case) is None


def test_a_plan_that_cannot_be_priced_promises_nothing():
    kernel = RESIDENT.kernels[0].model_copy(update={"programs": "M // UNKNOWN_THING"})
    odd = RESIDENT.model_copy(update={"kernels": (kernel,), "knobs": RESIDENT.knobs[:1]})
    assert expected(odd, WORKLOAD, "h200") is None


def test_favour_grows_with_the_predicted_gain_and_is_bounded():
    assert favour(None, 1.0) == favour(0.0, None) == favour(0.3, 0.3) == 1.0
    assert 1.0 < favour(0.0, 0.2) < favour(0.0, 0.5)
    assert favour(0.0, 99.0) == pytest.approx(MOST_FAVOUR)
    assert favour(0.0, -99.0) == pytest.approx(1 / MOST_FAVOUR)
