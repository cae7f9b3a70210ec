"""Statistics against values worked out by hand, and intervals against their promise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from search import statistics as stats

SPEEDUPS = [None, 1.0, 0.5, 2.0, None, 4.0]


def test_best_so_far_is_zero_until_the_first_pass():
    assert stats.best_so_far(SPEEDUPS).tolist() == [0, 1, 1, 2, 2, 4]
    assert stats.best_so_far([]).tolist() == []


def test_area_under_best_is_a_mean_over_the_axis():
    assert stats.area_under_best([1, 2, 3, 4], [None, 1.0, 3.0, 2.0], cap=6) == pytest.approx((1 + 3 * 3) / 6)
    assert stats.area_under_best([], [], cap=6) == 0


def test_area_under_best_stops_at_the_cap():
    assert stats.area_under_best([1, 5], [1.0, 100.0], cap=3) == pytest.approx(2 / 3)


@given(st.lists(st.one_of(st.none(), st.floats(0.01, 100)), min_size=1, max_size=30))
def test_area_lies_between_nothing_and_the_final_best(speedups):
    spent = list(range(1, len(speedups) + 1))
    area = stats.area_under_best(spent, speedups, cap=len(speedups) + 1)
    assert 0 <= area <= stats.best_so_far(speedups)[-1] + 1e-9


def test_geometric_mean():
    assert stats.geometric_mean([1, 4]) == pytest.approx(2)
    with pytest.raises(ValueError, match="above 0"):
        stats.geometric_mean([1, 0])
    with pytest.raises(ValueError, match="above 0"):
        stats.geometric_mean([])


def test_median_ratio_holds_the_truth_as_often_as_it_says():
    source = np.random.default_rng(0)
    inside = 0
    for seed in range(100):
        disturbance = source.lognormal(0, 0.3, 40)
        top = 2 * disturbance * source.lognormal(0, 0.05, 40)
        bottom = disturbance * source.lognormal(0, 0.05, 40)
        interval = stats.median_ratio(top, bottom, seed=seed)
        inside += interval.low <= 2 <= interval.high
    assert inside >= 88


def test_pairing_narrows_the_interval():
    source = np.random.default_rng(1)
    disturbance = source.lognormal(0, 0.5, 40)
    paired = stats.median_ratio(2 * disturbance, disturbance, seed=0)
    apart = stats.median_ratio(2 * disturbance, source.permutation(disturbance), seed=0)
    assert paired.high - paired.low < (apart.high - apart.low) / 5


def test_intervals_are_the_same_twice():
    times = [3.0, 4.0, 5.0, 4.5]
    assert stats.median_ratio(times, times[::-1], seed=3) == stats.median_ratio(times, times[::-1], seed=3)


@pytest.mark.parametrize(
    "wrong", [([], []), ([1.0], [1.0, 2.0]), ([1.0, -1.0], [1.0, 1.0]), ([float("nan")], [1.0])]
)
def test_samples_that_are_no_samples_are_refused(wrong):
    with pytest.raises(ValueError, match="samples"):
        stats.median_ratio(*wrong, seed=0)


def test_one_pair_gives_an_interval_of_no_width():
    interval = stats.median_ratio([6.0], [3.0], seed=0)
    assert (interval.low, interval.value, interval.high) == (2, 2, 2)


def test_probability_better():
    worse, better = [1.0, 1.1, 0.9, 1.0], [2.0, 2.1, 1.9, 2.0]
    assert stats.probability_better(better, worse, seed=0) == 1
    assert stats.probability_better(worse, better, seed=0) == 0
    assert stats.probability_better(worse, worse, seed=0) == 0.5
    mixed = stats.probability_better([1.0, 2.0, 1.0, 1.5], [1.2, 1.0, 1.1, 1.2], seed=0)
    assert 0.5 < mixed < 1


def test_better_needs_six_seeds_and_an_interval_above_equality():
    assert not stats.is_better([2.0] * 5, [1.0] * 5, seed=0)
    assert stats.is_better([2.0] * 6, [1.0] * 6, seed=0)
    assert not stats.is_better([2, 0.5, 2, 0.5, 2, 0.5], [1] * 6, seed=0)


def test_regret_at_shares_of_the_budget():
    assert stats.regret_at(SPEEDUPS, best=4, budget=8) == (0.75, 0.5, 0)
    assert stats.regret_at([None, None], best=4, budget=2) == (1, 1, 1)
    assert stats.regret_at([5.0], best=4, budget=1, shares=(1.0,)) == (0,)


def test_evaluations_to_a_target():
    assert stats.evaluations_to(SPEEDUPS, 1.5) == 4
    assert stats.evaluations_to(SPEEDUPS, 5) is None


def test_expected_running_time_counts_the_failed_searches():
    assert stats.expected_running_time([10, 20], budget=50) == 15
    assert stats.expected_running_time([10, None], budget=50) == 60
    assert stats.expected_running_time([None], budget=50) is None


def test_fast_p():
    assert stats.fast_p([None, 0.9, 1.0, 1.1]) == 0.25
    assert stats.fast_p([2.5, 1.1], threshold=2) == 0.5
    assert stats.fast_p([]) == 0


def test_floor_score_is_defined_only_at_or_above_the_floor():
    assert stats.floor_score(10, floor_us=10, baseline_us=30) == 1
    assert stats.floor_score(20, floor_us=10, baseline_us=30) == 0.5
    assert stats.floor_score(9.9, floor_us=10, baseline_us=30) is None
    assert stats.floor_score(20, floor_us=10, baseline_us=10) is None


def test_expected_cost_takes_what_each_search_has_spent():
    assert stats.expected_cost([3, None, 5], [9, 7, 9]) == (3 + 5 + 7) / 2
    assert stats.expected_cost([None], [7]) is None


def test_the_interval_of_an_expected_cost_is_open_where_resamples_never_reach_the_target():
    low, high = stats.expected_cost_interval([10, 12, 14, 11] * 5, [50] * 20, seed=0)
    assert 10 <= low < 11.75 < high <= 14
    low, high = stats.expected_cost_interval([10, None, None], [50] * 3, seed=0)
    assert low >= 10
    assert high is None
    assert stats.expected_cost_interval([None, None], [50] * 2, seed=0) is None


def test_the_interval_of_a_mean_covers_it_as_often_as_promised():
    draw = np.random.default_rng(0)
    covered = 0
    for trial in range(120):
        found = stats.mean_interval(draw.normal(2.0, 1.0, 40).tolist(), seed=trial)
        covered += found.low <= 2.0 <= found.high
    assert covered >= 106
    with pytest.raises(ValueError, match="finite"):
        stats.mean_interval([1.0, float("nan")], seed=0)


def test_geometric_mean_comes_with_its_worst():
    assert stats.geometric_mean_with_worst([4.0, 1.0]) == (2.0, 1.0)


def test_rank_correlation():
    assert stats.rank_correlation([1, 2, 3, 9], [10, 20, 30, 40]) == pytest.approx(1.0)
    assert stats.rank_correlation([1, 2, 3], [3, 2, 1]) == pytest.approx(-1.0)
    assert stats.rank_correlation([1, 1, 1], [3, 2, 1]) is None
    with pytest.raises(ValueError, match="pairs"):
        stats.rank_correlation([1, 2], [1])
