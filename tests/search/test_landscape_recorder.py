"""Recording: the design, going on after a kill, repeats, and what is left out."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from landscape_factories import CASE, DESIGN, WORKLOAD, MadeUpDevice, small_plan

from search.commands.record import record
from search.landscapes.design import grid_points, plan, reduced
from search.landscapes.landscape import Landscape
from search.landscapes.partial import PartialError, PartialFile
from search.landscapes.recorder import Order, Recorder, assembled
from search.library import shipped_library
from search.records import Knob, Language

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


def test_a_grid_that_fits_is_left_whole():
    assert reduced(KNOBS, 30, seed=1) == KNOBS


def test_default_knobs_come_first():
    assert grid_points(KNOBS)[0] == (2, 1, 1)
    assert len(set(grid_points(KNOBS))) == 30


def test_structures_are_found_breadth_first_each_once():
    chosen = small_plan()
    actions = [one.blueprint.actions for one in chosen.structures]
    assert actions[0] == ()
    assert len(set(actions)) == len(actions) == DESIGN.structures
    assert [len(each) for each in actions] == sorted(len(each) for each in actions)
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


def test_structures_without_measurements_are_left_out_with_their_moves(tmp_path):
    with pytest.raises(ConnectionError):
        recorder(tmp_path / "a.part", MadeUpDevice(die_after=21)).run()
    made = assembled(ORDER, small_plan(), PartialFile(tmp_path / "a.part", small_plan().hash))
    assert 1 <= len(made.structures) < DESIGN.structures
    assert "left out" in made.design


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
