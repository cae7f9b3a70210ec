"""The slope clock's arithmetic, on made-up pairs."""

from __future__ import annotations

import pytest

from gpuworker.clock import Pair, charge, disbelief, overhead_s
from gpuworker.intervals import geometric_mean, median_interval

EMPTY_S = 50e-6
CALL_S = 500e-6


def pairs(call_s=CALL_S, beside_s=EMPTY_S, dawdle_s=0.0, count=5):
    """What a contender shows whose calls take so long, and which draws its short passes out by `dawdle_s`."""
    return [Pair(4 * call_s + beside_s + dawdle_s, 8 * call_s + beside_s, 4, 8) for _ in range(count)]


def test_the_slope_is_the_time_of_one_call():
    assert pairs()[0].slope_s == pytest.approx(CALL_S)


def test_an_honest_contender_is_charged_nothing():
    assert charge(pairs(), overhead_s(pairs(), EMPTY_S)) == 0.0
    assert disbelief(pairs(), EMPTY_S) == ""


@pytest.mark.parametrize("dawdle_s", [0.2e-3, 0.5e-3, 1e-3, 1.9e-3])
def test_drawing_short_passes_out_gains_nothing_to_speak_of(dawdle_s):
    cheating = pairs(dawdle_s=dawdle_s)
    assert cheating[0].slope_s < 0.95 * CALL_S
    charged = cheating[0].slope_s + charge(cheating, overhead_s(pairs(), EMPTY_S))
    assert charged >= 0.98 * CALL_S


def test_drawing_short_passes_out_a_lot_is_not_believed():
    assert "none of its calls" in disbelief(pairs(dawdle_s=1.5e-3), EMPTY_S)


def test_drawing_some_short_passes_out_is_charged_too():
    mixed = [*pairs(dawdle_s=1.5e-3, count=3), *pairs(count=2)]
    slope_s = sorted(pair.slope_s for pair in mixed)[2]
    assert slope_s + charge(mixed, EMPTY_S) >= 0.98 * CALL_S


def test_noise_in_a_few_passes_is_no_accusation():
    noisy = [*pairs(), Pair(6e-3, 4.1e-3, 4, 8), Pair(2.1e-3, 9e-3, 4, 8)]
    assert disbelief(noisy, EMPTY_S) == ""


def test_a_slow_baseline_does_not_widen_the_allowance_without_end():
    assert overhead_s(pairs(beside_s=20e-3), EMPTY_S) <= EMPTY_S + 200e-6


def test_an_interval_holds_its_median_and_is_the_same_every_time():
    samples = [1.0, 1.1, 0.9, 1.05, 0.97]
    interval = median_interval(samples)
    assert interval.low <= interval.value <= interval.high
    assert interval == median_interval(samples)
    assert interval.value == pytest.approx(1.0)


def test_a_geometric_mean_is_weighted():
    interval = geometric_mean([[2.0] * 5, [8.0] * 5], [1.0, 3.0])
    assert interval.value == pytest.approx(2.0 * 8.0 ** (3 / 4) / 2.0 ** (3 / 4))
