"""Importance of knobs and actions against effects that were put in."""

from __future__ import annotations

import itertools
import math

import pytest

from search.importance import action_importance, knob_importance


def grid(effect):
    values = itertools.product((1, 2, 4), (False, True), ("a", "b"))
    return [({"A": a, "B": b, "C": c}, effect(a, b, c)) for a, b, c in values]


def test_a_knob_that_decides_alone_explains_everything():
    found = knob_importance(grid(lambda a, b, c: float(a)))
    assert [one.knob for one in found] == ["A", "B", "C"]
    assert [one.share for one in found] == pytest.approx([1, 0, 0])
    assert (found[0].best, found[0].factor) == (4, pytest.approx(4.0))


def test_shares_of_independent_knobs_add_up_to_one():
    found = knob_importance(grid(lambda a, b, c: a * (1.5 if b else 1.0) * (1.1 if c == "b" else 1.0)))
    assert sum(one.share for one in found) == pytest.approx(1.0)
    by_name = {one.knob: one for one in found}
    assert by_name["B"].best is True
    assert by_name["B"].factor == pytest.approx(1.5)
    assert by_name["A"].share > by_name["B"].share > by_name["C"].share


def test_what_only_works_together_is_nobodys_main_effect():
    found = knob_importance(grid(lambda a, b, c: 2.0 if b == (c == "a") else 1.0))
    assert [one.share for one in found] == pytest.approx([0, 0, 0])


def test_a_flat_structure_has_no_important_knob():
    assert [one.share for one in knob_importance(grid(lambda *_: 3.0))] == [0, 0, 0]
    assert knob_importance([]) == []


def test_points_of_different_knobs_are_refused():
    with pytest.raises(ValueError, match="same knobs"):
        knob_importance([({"A": 1}, 1.0), ({"B": 1}, 1.0)])
    with pytest.raises(ValueError, match="above 0"):
        knob_importance([({"A": 1}, 0.0)])


def test_an_action_is_compared_with_the_same_structure_without_it():
    best = {
        frozenset(): 1.0,
        frozenset("x"): 2.0,
        frozenset("y"): 0.5,
        frozenset("xy"): 1.0,
        frozenset("yz"): 9.0,
    }
    found = {one.action: one for one in action_importance(best, seed=0)}
    assert found["x"].pairs == 2
    assert found["x"].gain.value == pytest.approx(math.log(2))
    assert found["x"].wins == 1.0
    assert found["y"].gain.value == pytest.approx(math.log(0.5))
    assert found["z"].gain.value == pytest.approx(math.log(18))
    assert [one.action for one in action_importance(best, seed=0)] == ["z", "x", "y"]
    assert action_importance({}, seed=0) == []
