"""A time below what moving the data takes convicts, but not by a ceiling that a busy machine had lowered."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from conftest import SOFTMAX

from gpuworker.clock import Pair
from gpuworker.devices.device import Bandwidth, Ceiling
from gpuworker.timing import Match, Samples
from gpuworker.verdicts import RejectedError

CALL_S = 100e-6
"""Of 1 MiB in and 1 MiB out: 10 GB/s each way."""


def ceiling(bytes_per_s):
    return Ceiling((Bandwidth(0, bytes_per_s, bytes_per_s),), duplex=True)


def pairs(call_s):
    return [Pair(5 * call_s, 10 * call_s, 5, 10) for _ in range(5)]


@pytest.fixture
def match():
    layout = SimpleNamespace(slots=[SimpleNamespace(size_bytes=2 << 20)], of_case=lambda name: [0])
    stick = SimpleNamespace(workload=SOFTMAX, empty_pass_s=0.0)
    return Match(SimpleNamespace(layout=layout), stick, "main", None, None)


def judged(match, first, second):
    return match._result(Samples(pairs(CALL_S), pairs(2 * CALL_S)), ceiling(first), lambda: ceiling(second))


def test_a_ceiling_that_was_too_low_is_measured_again(match):
    timing = judged(match, first=5e9, second=40e9).timing
    assert timing.median_us == pytest.approx(100)
    assert timing.floor_us == pytest.approx(0.9 * (1 << 20) / 40e9 * 1e6)


def test_what_stays_impossible_convicts(match):
    with pytest.raises(RejectedError, match=r"100\.00 us is below the") as caught:
        judged(match, first=5e9, second=6e9)
    assert caught.value.status == "REWARD_HACK"


def test_a_believable_time_needs_no_second_measurement(match):
    result = match._result(
        Samples(pairs(CALL_S), pairs(CALL_S)), ceiling(40e9), lambda: pytest.fail("measured again")
    )
    assert result.timing.floor_us < 100
