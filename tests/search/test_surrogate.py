"""The model over all structures: what it predicts, what it shares, and that it is a function of the trials."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from factories import structure

from search.records import Knob
from search.structure import Structure
from search.surrogate import Shape, Surrogate, place_of
from search.tuning import Tuner

ONE = Knob(name="ONE", choices=(1, 2, 4, 8, 16), default=1)
TWO = Knob(name="TWO", choices=(1, 2, 4, 8), default=1)
WORD = Knob(name="WORD", choices=("row", "column"), default="row")
GRID = list(itertools.product(ONE.choices, TWO.choices))


def named(knobs: tuple[Knob, ...], point: tuple) -> dict:
    return {knob.name: value for knob, value in zip(knobs, point, strict=True)}


def tried(word: str, points: list[tuple], speedup, knobs=(ONE, TWO), start: int = 1) -> Structure:
    """A structure of one decision with measured points."""
    made = structure(knobs, {n: (named(knobs, p), speedup(p)) for n, p in enumerate(points, start)})
    blueprint = made.blueprint.model_copy(update={"choices": {"a": word, "b": "same"}})
    told = Structure(blueprint.fingerprint, start, blueprint=blueprint, bases={start})
    for number, trial in made.trials.items():
        moved = trial.__class__(**{**trial.__dict__, "structure": blueprint.fingerprint})
        told.note(moved, charged=True)
        assert number == moved.number
    return told


def trials(*structures: Structure) -> list:
    return sorted((t for each in structures for t in each.trials.values()), key=lambda t: t.number)


def places(points: list[tuple]) -> np.ndarray:
    return np.array([[place_of(value) for value in point] for point in points])


def hill(point: tuple) -> float:
    """Best at (8, 2)."""
    return 1 / (
        1 + 0.1 * (place_of(point[0]) - place_of(8)) ** 2 + 0.1 * (place_of(point[1]) - place_of(2)) ** 2
    )


def test_it_predicts_a_measured_point_and_doubts_a_far_one():
    made = tried("x", GRID[:6], hill)
    outlook = Surrogate([made], trials(made)).outlook(made, places([GRID[0], GRID[-1]]))
    assert outlook.mean[0] == pytest.approx(
        float(np.log1p(4 * np.log(max(map(hill, GRID[:6])) / hill(GRID[0])))), abs=0.2
    )
    assert outlook.deviation[0] < 0.5 * outlook.deviation[1]


def test_what_one_structure_learned_informs_another():
    rich = tried("x", GRID, hill)
    poor = tried("y", [GRID[0], GRID[1], GRID[4]], lambda point: 0.5 * hill(point), start=50)
    model = Surrogate([rich, poor], trials(rich, poor))
    model = Surrogate([rich, poor], trials(rich, poor), model.best_shape())
    outlook = model.outlook(poor, places(GRID))
    assert hill(GRID[int(np.argmin(outlook.mean))]) > 0.95


def test_a_region_that_fails_is_expected_to_fail():
    made = tried("x", random.Random(0).sample(GRID, 14), lambda point: None if point[0] >= 8 else 1.0)
    outlook = Surrogate([made], trials(made)).outlook(made, places([(16, 4), (1, 4)]))
    assert outlook.sound[0] < 0.4 < 0.7 < outlook.sound[1]


def test_words_and_flags_are_compared_for_equality_only():
    assert place_of(True) != place_of(1)
    assert len({place_of("row"), place_of("column"), place_of(True), place_of(False)}) == 4
    made = tried(
        "x", [(1, "row"), (2, "row"), (4, "column")], lambda point: 1.0 + (point[1] == "row"), (ONE, WORD)
    )
    outlook = Surrogate([made], trials(made)).outlook(made, places([(8, "row"), (8, "column")]))
    assert outlook.mean[0] < outlook.mean[1]


def test_expected_improvement_prefers_better_and_less_certain_points():
    made = tried("x", GRID[:4], hill)
    outlook = Surrogate([made], trials(made)).outlook(made, places(GRID))
    gain = outlook.improvement(0.0)
    assert (gain >= 0).all()
    assert (outlook.improvement(0.5) > gain).all()


def test_failures_alone_are_no_obstacle():
    made = tried("x", GRID[:4], lambda point: None)
    outlook = Surrogate([made], trials(made)).outlook(made, places(GRID))
    assert np.isfinite(outlook.mean).all()


def test_the_best_shape_tells_a_knob_that_matters_from_one_that_does_not():
    made = tried("x", GRID, lambda point: 1.0 if place_of(point[0]) > 2.5 else 1.0 / (1 + point[0]))
    shape = Surrogate([made], trials(made)).best_shape()
    assert shape.lengths[0] < shape.lengths[1]
    assert isinstance(shape, Shape)


def test_promises_are_higher_where_more_is_to_be_gained():
    good = tried("x", GRID[::3], hill)
    bad = tried("y", GRID[::2], lambda point: 0.1 * hill(point), start=50)
    promises = Tuner(0, "shared").promises([good, bad], [good, bad])
    assert promises[good.fingerprint] > promises[bad.fingerprint]


def test_there_are_no_promises_before_anything_was_timed():
    made = tried("x", GRID[:2], hill)
    assert Tuner(0, "shared").promises([made], [made]) == {}


def test_a_structure_that_the_cost_model_puts_higher_is_expected_to_be_faster():
    one = tried("x", GRID[:6], hill)
    two, three = (
        tried(word, GRID[:1], lambda point: 0.5, start=start) for word, start in (("y", 50), ("z", 60))
    )
    one.prior, two.prior, three.prior = 0.0, 1.0, -1.0
    known = [one, two, three]
    model = Surrogate(known, trials(*known), Shape(lengths=(3.2, 3.2), trust=1.0))
    far = places([GRID[-1]])
    assert model.outlook(two, far).mean[0] < model.outlook(three, far).mean[0] - 0.2
    doubtful = Surrogate(known, trials(*known), Shape(lengths=(3.2, 3.2), trust=0.0))
    assert doubtful.outlook(two, far).mean[0] == pytest.approx(doubtful.outlook(three, far).mean[0], abs=0.05)


def test_trust_in_the_cost_model_follows_what_was_measured():
    speeds = {"u": 1.0, "v": 2.0, "w": 4.0, "x": 8.0}

    def known(sign: float) -> list[Structure]:
        made = []
        for place, (word, speed) in enumerate(speeds.items()):
            each = tried(word, GRID[:4], lambda point, speed=speed: speed * hill(point), start=10 * place + 1)
            each.prior = sign * float(np.log(speed))
            made.append(each)
        return made

    right, wrong = known(1.0), known(-1.0)
    assert Surrogate(right, trials(*right)).best_shape().trust == 1.0
    assert Surrogate(wrong, trials(*wrong)).best_shape().trust == 0.0
