"""Recording: the design, going on after a kill, repeats, and what is left out."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace

import pytest
from landscape_factories import CASE, DESIGN, WORKLOAD, MadeUpDevice, small_plan

from search.commands.record import record
from search.first_knobs import thread_bytes
from search.landscapes.design import grid_points, plan, reduced, values_at
from search.landscapes.landscape import Landscape
from search.landscapes.partial import NOT_BUILT, PartialError, PartialFile
from search.landscapes.recorder import FruitlessError, Order, Recorder, assembled
from search.library import compose, shipped_library, shipped_workload
from search.records import EvaluationStatus, Knob, Language

ORDER = Order("made_up", WORKLOAD, CASE, Language.CPP, shipped_library(), DESIGN)
POINTS = sum(map(len, small_plan().points))


def recorder(path, device, **fields):
    partial = PartialFile(path, small_plan().hash)
    return Recorder(ORDER, small_plan(), partial, device, "cpu", **fields)


# The design ------------------------------------------------------------------------------------------

KNOBS = (
    Knob(name="A", choices=(1, 2, 4, 8, 16), default=4),
    Knob(name="B", choices=(False, True), default=True),
    Knob(name="C", choices=("x", "y", "z"), default="y"),
)


@pytest.mark.parametrize("most", [1, 2, 3, 7, 12, 29, 30, 1000])
def test_a_grid_keeps_its_defaults_and_fits(most):
    kept = reduced(KNOBS, most, seed=5)
    size = math.prod(len(knob.choices) for knob in kept)
    assert size <= most
    assert size > most / 2 or most >= 30 or most < 4
    for old, new in zip(KNOBS, kept, strict=True):
        assert new.default == old.default
        assert set(new.choices) <= set(old.choices)
        assert [choice for choice in old.choices if choice in new.choices] == list(new.choices)


def test_switches_are_left_out_before_choices():
    assert [len(knob.choices) for knob in reduced(KNOBS, 15, seed=5)] == [5, 1, 3]


@pytest.mark.parametrize("seed", range(20))
def test_choices_that_stay_are_spread(seed):
    wide = Knob(name="A", choices=(1, 2, 4, 8, 16, 32), default=4)
    below, middle, above = reduced((wide,), 3, seed)[0].choices
    assert (below, middle) in {(1, 4), (2, 4)}
    assert above > middle


def test_a_grid_that_fits_is_left_whole():
    assert reduced(KNOBS, 30, seed=1) == KNOBS


def test_default_knobs_come_first():
    assert grid_points(KNOBS)[0] == (2, 1, 1)
    assert len(set(grid_points(KNOBS))) == 30


def test_structures_come_after_those_that_they_extend_each_once():
    chosen = small_plan()
    actions = [one.blueprint.actions for one in chosen.structures]
    assert actions[0] == ()
    assert len(set(actions)) == len(actions) == DESIGN.structures
    for place, own in enumerate(actions):
        assert not [later for later in actions[place:] if set(later) < set(own)]
    assert {0} < set(chosen.moves.parent)
    assert set(chosen.moves.child) >= set(range(1, DESIGN.structures))


def test_another_seed_is_another_plan():
    other = plan(WORKLOAD, shipped_library(), Language.CPP, "cpu", replace(DESIGN, seed=4))
    assert other.hash != small_plan().hash


def test_a_workload_that_the_playbook_does_not_write_is_refused():
    strange = WORKLOAD.model_copy(update={"op_type": "sort"})
    with pytest.raises(ValueError, match="does not write sort"):
        plan(strange, shipped_library(), Language.CPP, "cpu", DESIGN)


def test_only_the_case_is_measured():
    assert [case.name for case in ORDER.narrowed.cases] == [CASE]


ROWS = shipped_workload("softmax_fp16")


@pytest.mark.parametrize(
    ("actions", "knobs", "kept"),
    [
        (["resident_row"], {"NUM_WARPS": 4}, 4 * 32000 // 128),
        (["resident_row", "row_groups"], {"NUM_WARPS": 8, "ROWS": 2}, 4 * 2 * 32000 // 256),
        ([], {"NUM_WARPS": 1, "BLOCK_N": 1024}, 8 * 1024 // 32),
    ],
)
def test_the_plan_says_what_a_thread_keeps(actions, knobs, kept):
    made = compose(ROWS, shipped_library(), actions, Language.TRITON)
    assert thread_bytes(made, {"M": 2048, "N": 32000}, knobs) == kept


def test_without_warps_nothing_is_said():
    assert thread_bytes(small_plan().structures[0].blueprint, {"M": 2, "N": 3}, {"UNROLL": 1}) == 0


# Recording -------------------------------------------------------------------------------------------


def test_everything_is_measured_and_a_share_again(tmp_path):
    device = MadeUpDevice()
    one = recorder(tmp_path / "a.part", device)
    assert one.run()
    made = assembled(ORDER, small_plan(), one.partial)
    assert isinstance(made, Landscape)
    assert len(made.rows) == POINTS
    assert made.missing() == 0
    again = [rows for rows in made.rows.values() if len(rows) == 1 + DESIGN.repeats]
    share = round(DESIGN.repeat_share * POINTS)
    assert share <= len(again) <= share + DESIGN.fastest
    fastest = max(made.truth, key=made.truth.get)
    assert len(made.rows[fastest]) == 1 + DESIGN.repeats
    assert made.structures[0].resources == {"registers": 40}
    assert made.workload_hash == WORKLOAD.hash
    assert len(device.seen) == len(set(device.seen))


def test_points_too_large_to_build_are_told_and_not_sent(tmp_path, monkeypatch):
    big, chosen = small_plan().points[1][:1], small_plan().structures[1].blueprint
    values = [values_at(chosen.knobs, one) for one in big]
    monkeypatch.setattr(
        "search.landscapes.recorder.thread_bytes",
        lambda blueprint, sizes, knobs: 9999 * (blueprint == chosen and knobs in values),
    )
    device = MadeUpDevice()
    one = recorder(tmp_path / "a.part", device)
    assert one.run()
    rows = [row for row in one.partial.rows.values() if row.message.startswith(NOT_BUILT)]
    assert [row.key for row in rows] == [(1, one, 0) for one in big]
    assert {row.status for row in rows} == {EvaluationStatus.TIMEOUT}
    assert all(row.charged for row in rows)
    assert len({row.key[:2] for row in one.partial.rows.values()}) == POINTS
    assert assembled(ORDER, small_plan(), one.partial).environment.device == "Test device"
    sent = {tuple(map(int, seen.split(":")[1].split("."))) for seen in device.seen if seen.startswith("1:")}
    assert not sent & set(big)


def test_a_killed_recorder_goes_on_where_it_was(tmp_path):
    path = tmp_path / "a.part"
    first = MadeUpDevice(die_after=21)
    with pytest.raises(ConnectionError):
        recorder(path, first).run()
    with path.open("a") as file:
        file.write('{"structure": 0, "kno')
    second = MadeUpDevice()
    one = recorder(path, second)
    assert one.run()
    assert not set(first.seen) & set(second.seen)
    unbroken = recorder(tmp_path / "b.part", MadeUpDevice())
    assert unbroken.run()
    assert assembled(ORDER, small_plan(), one.partial) == assembled(ORDER, small_plan(), unbroken.partial)


def test_a_point_under_which_the_device_failed_is_sent_again(tmp_path):
    device = MadeUpDevice(infra_every=7)
    one = recorder(tmp_path / "a.part", device)
    assert one.run()
    assert len(device.seen) > len(set(device.seen))
    assert assembled(ORDER, small_plan(), one.partial).missing() == 0


def test_time_that_is_up_ends_it_between_batches(tmp_path):
    one = recorder(tmp_path / "a.part", MadeUpDevice(), stop_at=0.0)
    assert not one.run()
    with pytest.raises(ValueError, match="nothing that was measured passed"):
        assembled(ORDER, small_plan(), one.partial)


def test_repeats_are_made_though_not_every_point_was_measured(tmp_path, monkeypatch):
    ticks = itertools.count()
    monkeypatch.setattr("search.landscapes.recorder.time.monotonic", lambda: next(ticks))
    one = recorder(tmp_path / "a.part", MadeUpDevice(), batch=8, repeat_at=12.0)
    assert not one.run()
    made = assembled(ORDER, small_plan(), one.partial)
    assert any(len(rows) == 1 + DESIGN.repeats for rows in made.rows.values())
    assert 1 < len(made.structures) < DESIGN.structures


def test_a_point_that_kills_the_worker_twice_is_left_open(tmp_path):
    killer = "2:" + ".".join(map(str, small_plan().points[2][1])) + ":0"
    one = recorder(tmp_path / "a.part", MadeUpDevice(killer=killer))
    for _ in range(2):
        with pytest.raises(ConnectionError):
            one.run()
    assert one.run()
    made = assembled(ORDER, small_plan(), one.partial)
    assert POINTS - len(made.rows) in {1, len(small_plan().points[2])}


def test_a_device_that_judges_nothing_is_told_apart_from_bad_points(tmp_path):
    one = recorder(tmp_path / "a.part", MadeUpDevice(infra_every=1))
    with pytest.raises(FruitlessError, match="it is broken"):
        one.run()


@pytest.mark.parametrize(("left_s", "size"), [(-1, 0), (0.5, 8), (10, 20), (1000, 64), (math.inf, 64)])
def test_a_batch_is_as_large_as_the_time_allows(tmp_path, left_s, size):
    one = recorder(tmp_path / "a.part", MadeUpDevice(), spent_s=5.0, answered=10)
    assert one._batch_size(left_s) == size


def test_a_batch_that_outlasts_the_time_is_not_waited_for(tmp_path, monkeypatch):
    ticks = itertools.count()
    monkeypatch.setattr("search.landscapes.recorder.time.monotonic", lambda: next(ticks))
    device = MadeUpDevice()
    one = recorder(tmp_path / "a.part", device, stop_at=13.0)
    assert not one.run()
    assert 0 < len(device.seen) < 12
    assert not one.deaths


def test_structures_without_measurements_are_left_out_with_their_moves(tmp_path):
    with pytest.raises(ConnectionError):
        recorder(tmp_path / "a.part", MadeUpDevice(die_after=21)).run()
    made = assembled(ORDER, small_plan(), PartialFile(tmp_path / "a.part", small_plan().hash))
    assert 1 <= len(made.structures) < DESIGN.structures
    assert "left out" in made.design


def test_a_partial_file_of_another_harness_is_refused(tmp_path):
    """Its times were taken in another way, and would stand beside new ones under one number."""
    path = tmp_path / "a.part"
    recorder(path, MadeUpDevice())
    head, _, rest = path.read_text().partition("\n")
    path.write_text(json.dumps(json.loads(head) | {"harness": "1"}) + "\n" + rest)
    with pytest.raises(PartialError, match="harness 1"):
        PartialFile(path, small_plan().hash)


def test_a_partial_file_of_another_plan_is_refused(tmp_path):
    recorder(tmp_path / "a.part", MadeUpDevice())
    with pytest.raises(PartialError, match="another plan"):
        PartialFile(tmp_path / "a.part", "other")


def test_a_broken_partial_file_is_told(tmp_path):
    (tmp_path / "a.part").write_text("nonsense\n")
    with pytest.raises(PartialError, match=r"a\.part"):
        PartialFile(tmp_path / "a.part", "x")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--workload", "nothing"], "--workload nothing"),
        (["--case", "nowhere"], "--case nowhere"),
        (["--out", "x.json"], "must end in"),
    ],
)
def test_wrong_words_are_named(options, problem, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    usual = {"--workload": "softmax", "--language": "cpp", "--device": "cpu", "--out": "x.json.gz"}
    usual |= dict(zip(options[::2], options[1::2], strict=True))
    assert record([word for pair in usual.items() for word in pair]) == 2
    assert problem in capsys.readouterr().err
