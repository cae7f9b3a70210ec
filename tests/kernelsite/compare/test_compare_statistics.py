from __future__ import annotations

import pytest

from kernelsite.compare.statistics import best_at, fast_p_steps, middle_band, pair, spread

CURVE = [(1, 0.5), (4, 1.5), (9, 2.0)]


def test_best_at_takes_the_last_record_within_the_budget():
    assert best_at(CURVE, 0) is None
    assert best_at(CURVE, 3) == 0.5
    assert best_at(CURVE, 4) == 1.5
    assert best_at(CURVE, 99) == 2.0


def test_a_spread_needs_a_value_of_every_seed():
    assert spread([1.0, None]) is None
    assert spread([]) is None
    found = spread([3.0, 1.0, 2.0])
    assert (found.seeds, found.median, found.lower, found.upper) == (3, 2.0, 1.5, 2.5)
    assert found.low <= 6 ** (1 / 3) <= found.high


def test_two_seeds_have_quartiles_and_no_interval():
    found = spread([1.0, 2.0])
    assert (found.low, found.high) == (None, None)


def fast_and_slow(seeds, ratio, noise=0.0):
    slow = {seed: 1.0 + 0.1 * seed for seed in range(seeds)}
    fast = {seed: value * ratio * (1 + noise * (-1) ** seed) for seed, value in slow.items()}
    return fast, slow


def test_two_seeds_say_nothing():
    assert pair(*fast_and_slow(2, 5.0)).verdict == "not enough seeds"


def test_five_seeds_give_an_interval_and_no_verdict():
    found = pair(*fast_and_slow(5, 1.5, noise=0.1))
    assert found.verdict == "interval only"
    assert found.low <= found.ratio <= found.high


def test_the_chance_of_being_better_counts_resamples_and_wins_count_seeds():
    found = pair({0: 2.0, 1: 2.0, 2: 1.0}, {0: 1.0, 1: 1.0, 2: 1.1})
    assert found.wins == 2
    assert 0.5 < found.p_better < 1.0
    assert pair({0: 2.0, 1: 2.0}, {0: 1.0, 1: 1.0}).p_better is None


def test_six_seeds_that_all_agree_give_a_verdict():
    fast, slow = fast_and_slow(6, 1.5, noise=0.1)
    assert pair(fast, slow).verdict == "better"
    assert pair(slow, fast).verdict == "worse"


def test_an_interval_that_holds_one_is_no_verdict():
    assert pair(*fast_and_slow(8, 1.0, noise=0.2)).verdict == "not told apart"


def test_only_seeds_of_both_arms_are_paired():
    fast, slow = fast_and_slow(6, 1.5)
    del slow[0]
    assert pair(fast, slow).seeds == 5


def test_the_ratio_is_the_geometric_mean():
    assert pair({0: 1.0, 1: 4.0, 2: 2.0}, {0: 1.0, 1: 1.0, 2: 1.0}).ratio == pytest.approx(2.0)


def test_a_band_begins_where_every_seed_has_a_result():
    curves = [[(1, 1.0)], [(3, 2.0)], [(2, 3.0), (6, 4.0)]]
    assert middle_band(curves, 8) == [(3, 2.0, 1.5, 2.5), (6, 2.0, 1.5, 3.0), (8, 2.0, 1.5, 3.0)]


def test_two_seeds_have_no_band():
    assert middle_band([CURVE, CURVE], 10) == []


def test_a_band_ends_where_the_slowest_seed_stands():
    curves = [[(1, 1.0)], [(3, 2.0)], [(2, 3.0), (6, 4.0)]]
    assert [row[0] for row in middle_band(curves, 4)] == [3, 4]


def test_fast_p_falls_where_a_problem_is_not_faster_any_more_and_counts_the_unsolved():
    assert fast_p_steps([2.0, None, 1.0, 4.0]) == [(0.0, 0.75), (1.0, 0.5), (2.0, 0.25), (4.0, 0.0)]
