"""Knob proposals: order of preference, no repeats, and that they depend on nothing but seed and history."""

from __future__ import annotations

import itertools
import random
import statistics

import pytest
from factories import structure

from search import tuning
from search.records import Knob
from search.tuning import STARTUP_TRIALS, Tuner, draw_seed, grid_size

TILE = Knob(name="TILE", choices=(64, 16, 32, 128), default=32)
WIDE = Knob(name="WIDE", choices=(True, False), default=False)
ORDER = Knob(name="ORDER", choices=("row", "column", "snake"), default="row")
KNOBS = (TILE, WIDE, ORDER)
GRID = [
    dict(zip(("TILE", "WIDE", "ORDER"), point, strict=True))
    for point in itertools.product(*(knob.choices for knob in KNOBS))
]
LADDER = tuple(Knob(name=f"L{n}", choices=tuple(range(12)), default=0) for n in range(3))

every_sampler = pytest.mark.parametrize("sampler", ["shared", "tpe", "random"])


def bowl(values: dict) -> float:
    """Speed-up with its top, 1, at 8 for every knob."""
    return 1 / (1 + sum((int(value) - 8) ** 2 for value in values.values()) / 50)


def climb(sampler: str, seed: int, trials: int) -> list[dict]:
    """Proposals one after another, each told before the next."""
    tuner, told = Tuner(seed, sampler), {}
    for number in range(1, trials + 1):
        made = structure(LADDER, told)
        values = tuner.propose(made, others=[made])
        told[number] = (values, bowl(values))
    return [values for values, _ in told.values()]


def test_the_default_knobs_come_first():
    assert Tuner(0, "tpe").propose(structure(KNOBS, {})) == {"TILE": 32, "WIDE": False, "ORDER": "row"}


def test_hints_come_next_where_they_fit():
    tried = structure(KNOBS, {1: ({"TILE": 32, "WIDE": False, "ORDER": "row"}, 1.0)})
    hint = {"TILE": 128, "WIDE": 7, "OTHER": 3}
    assert Tuner(0, "tpe").propose(tried, [hint]) == {"TILE": 128, "WIDE": False, "ORDER": "row"}


@every_sampler
def test_every_point_is_proposed_once_and_then_none(sampler):
    tuner, told = Tuner(0, sampler), {}
    for number in range(1, len(GRID) + 1):
        made = structure(KNOBS, told)
        values = tuner.propose(made, others=[made])
        told[number] = (values, 1.0 if values["WIDE"] else None)
    proposed = [values for values, _ in told.values()]
    assert sorted(proposed, key=str) == sorted(GRID, key=str)
    assert tuner.propose(structure(KNOBS, told)) is None


def test_the_last_untried_point_of_a_large_grid_is_found(monkeypatch):
    monkeypatch.setattr(tuning, "LARGE_GRID", 4)
    left = {"TILE": 128, "WIDE": True, "ORDER": "snake"}
    told = {number: (values, 1.0) for number, values in enumerate(GRID, start=1) if values != left}
    assert Tuner(0, "tpe").propose(structure(KNOBS, told)) == left


def test_a_structure_without_knobs_has_one_point():
    assert Tuner(0, "tpe").propose(structure((), {})) == {}
    assert Tuner(0, "tpe").propose(structure((), {1: ({}, 1.0)})) is None


def test_values_outside_the_grid_are_left_out_of_account():
    odd = {number: ({"TILE": 1000 + number, "WIDE": True, "ORDER": "row"}, 1.0) for number in range(1, 20)}
    assert Tuner(0, "tpe").propose(structure(KNOBS, odd)) == {"TILE": 32, "WIDE": False, "ORDER": "row"}


@every_sampler
@pytest.mark.parametrize("seed", range(3))
def test_only_seed_and_history_count_not_what_the_tuner_did_before(sampler, seed):
    source = random.Random(seed)
    points = [(0, 0, 0), *source.sample(list(itertools.product(range(1, 12), repeat=3)), 40)]
    told = {
        n: ({f"L{place}": at for place, at in enumerate(point)}, None) for n, point in enumerate(points, 1)
    }
    told |= {n: (values, bowl(values)) for n, (values, _) in told.items() if n % 5}
    shuffled = dict(source.sample(list(told.items()), len(told)))
    fresh, used = Tuner(seed, sampler), Tuner(seed, sampler)
    for first, last in ((0, 30), (0, 35), (0, 20), (0, 1), (10, 41)):
        part = structure(LADDER, dict(list(told.items())[first:last]))
        used.propose(part, others=[part])
    one, other = structure(LADDER, shuffled), structure(LADDER, told)
    assert fresh.propose(one, others=[one]) == used.propose(other, others=[other])


@every_sampler
def test_another_seed_proposes_other_points(sampler):
    assert climb(sampler, 1, 6) == climb(sampler, 1, 6)
    assert climb(sampler, 1, 6) != climb(sampler, 2, 6)


@pytest.mark.parametrize("model", ["shared", "tpe"])
def test_a_model_climbs_better_than_random(model):
    best = {
        sampler: statistics.mean(max(map(bowl, climb(sampler, seed, 40))) for seed in range(4))
        for sampler in (model, "random")
    }
    assert best[model] > best["random"] + 0.02


def test_tpe_avoids_what_fails():
    def fails(values):
        return values["L0"] >= 4

    tuner, told = Tuner(0, "tpe"), {}
    for number in range(1, 41):
        made = structure(LADDER, told)
        values = tuner.propose(made, others=[made])
        told[number] = (values, None if fails(values) else 1.0 + values["L1"] / 12)
    late = [values for values, _ in list(told.values())[STARTUP_TRIALS + 5 :]]
    assert sum(map(fails, late)) < len(late) / 3


def test_a_history_of_failures_alone_is_no_obstacle():
    told = {number: (values, None) for number, values in enumerate(GRID[:-1], start=1)}
    assert Tuner(0, "tpe").propose(structure(KNOBS, told)) == GRID[-1]


def test_gp_says_what_it_lacks(monkeypatch):
    monkeypatch.setattr(tuning, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match="needs torch"):
        Tuner(0, "gp")


def test_seeds_are_the_same_on_every_machine():
    assert draw_seed(7, "structure", 3) == 2233843612
    assert grid_size(KNOBS) == 24
