"""The fastest program of a landscape: chosen, exported, and told by what a judge measured later."""

from __future__ import annotations

import json
import sys

import pytest
from landscape_factories import CASE, ENVIRONMENT, landscape

from search.best import ResultError, Winner, best_of, export, measured, recorded, winner_of
from search.commands.best import best
from search.commands.find import find
from search.knobs import read_knobs
from search.landscapes.files import write_landscape
from search.records import (
    CaseTiming,
    Evaluation,
    EvaluationStatus,
    Interval,
    Language,
    Purpose,
    Tier,
    TimingMethod,
)
from search.workload import Workload

finding = sys.modules["search.commands.find"]
"""The module; the package has the function under this name."""


def result_of(found, *, speedup=2.0, status=EvaluationStatus.PASSED, median_us=50.0):
    """What `gpuworker evaluate --json` prints."""
    place, _ = best_of(found)
    candidate = found.structures[place].candidate(found.language)
    ratio = Interval(value=speedup, low=speedup - 0.1, high=speedup + 0.1)
    timing = CaseTiming(
        case=CASE,
        median_us=median_us,
        p10_us=median_us - 2,
        p90_us=median_us + 5,
        samples=9,
        baseline_us=100,
        speedup=ratio,
    )
    evaluation = Evaluation(
        status=status,
        tier=Tier.FULL,
        purpose=Purpose.SEARCH,
        candidate=candidate.hash,
        environment=ENVIRONMENT,
        cases=(timing,),
        speedup=ratio,
        median_us=median_us,
        baseline="eager",
        method=TimingMethod.SLOPE,
    )
    compiled = {"median_us": 80.0, "candidate_speedup": {"value": 1.6, "low": 1.5, "high": 1.7}}
    return evaluation.dump() | {
        "intervals_us": {CASE: {"low": median_us - 0.5, "high": median_us + 0.5}},
        "baselines": {
            "compile": {"title": "torch.compile", "cases": {CASE: compiled}},
            "library": {"none": "no"},
        },
    }


def test_the_best_is_the_highest_of_the_landscape():
    found = landscape()
    assert found.truth[best_of(found)] == max(found.truth.values())


@pytest.mark.parametrize(("low", "wins"), [(0.01, False), (1e6, True)])
def test_a_point_measured_once_has_only_the_low_end_of_its_interval(low, wins):
    found = landscape()
    fastest = max(found.truth, key=found.truth.get)
    row = found.rows[fastest][0]
    lows = (*found.measurements.low[:row], low, *found.measurements.low[row + 1 :])
    found.__dict__["rows"] = dict(found.rows) | {fastest: (row,)}
    found.__dict__["measurements"] = found.measurements.model_copy(update={"low": lows})
    assert (best_of(found) == fastest) is wins


def test_the_exported_source_holds_the_knobs_and_the_workload_one_timed_case(tmp_path):
    found = landscape()
    path = export(winner_of(found), tmp_path)
    place, point = best_of(found)
    names = [knob.name for knob in found.structures[place].blueprint.knobs]
    assert read_knobs(Language.CPP, path.read_text()) == dict(zip(names, point, strict=True))
    workload = Workload.model_validate_json((tmp_path / "made_up.workload.json").read_text())
    assert [case.name for case in workload.cases if case.timed] == [CASE]
    assert len(workload.cases) == len(found.workload.cases)


def test_without_a_result_the_landscape_speaks():
    row = recorded(landscape())
    assert row.tier == "fast"
    assert list(row.against) == ["eager"]
    assert row.of_floor is None, "no device of that class was measured"


def test_a_result_replaces_times_and_brings_other_baselines(tmp_path):
    found = landscape()
    path = tmp_path / "made_up.result.json"
    path.write_text(json.dumps(result_of(found)))
    row = measured(winner_of(found), path)
    assert (row.median_us.value, row.median_us.low, row.median_us.high) == (50, 49.5, 50.5)
    assert row.tier == "full"
    assert row.against["eager"].median_us == 100
    assert row.against["compile"].speedup.value == 1.6
    assert "library" not in row.against


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"status": "PASSED"}'])
def test_what_is_no_result_is_refused_by_name(tmp_path, text):
    path = tmp_path / "made_up.result.json"
    path.write_text(text)
    with pytest.raises(ResultError, match=r"made_up\.result\.json"):
        measured(winner_of(landscape()), path)


def test_the_command_shows_a_table_and_the_lines_of_an_export(tmp_path, capsys):
    found = landscape()
    file = tmp_path / "made_up.json.gz"
    write_landscape(file, found)
    (tmp_path / "made_up.result.json").write_text(json.dumps(result_of(found)))
    assert best(["--landscapes", str(file), "--results", str(tmp_path)]) == 0
    assert "1.60 (1.50 to 1.70), 80.0 µs" in capsys.readouterr().out
    assert best(["--landscapes", str(file), "--export", str(tmp_path / "kernels")]) == 0
    line = capsys.readouterr().out
    assert line.startswith("python3 -m gpuworker evaluate --device cpu")
    assert (tmp_path / "kernels" / "made_up.cpp").exists()


@pytest.mark.parametrize(
    ("median_us", "structure"), [(30.0, "found by a search"), (70.0, "of the landscape")]
)
def test_of_a_landscape_and_a_search_the_faster_program_stands_in_the_table(
    tmp_path, capsys, median_us, structure
):
    found = landscape()
    file = tmp_path / "made_up.json.gz"
    write_landscape(file, found)
    (tmp_path / "made_up.result.json").write_text(json.dumps(result_of(found)))
    other = winner_of(found).model_copy(update={"name": "searched", "structure": "found by a search"})
    (tmp_path / "searched.winner.json").write_text(other.model_dump_json())
    assert best(["--landscapes", str(file), "--results", str(tmp_path), "--json"]) == 0
    (alone,) = json.loads(capsys.readouterr().out)
    assert alone["name"] == "made_up", "the other was not measured again"
    (tmp_path / "searched.result.json").write_text(json.dumps(result_of(found, median_us=median_us)))
    assert best(["--landscapes", str(file), "--results", str(tmp_path), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["structure"] == "found by a search") is (structure == "found by a search")


@pytest.mark.parametrize("text", ["", "{}", "\x00"])
def test_a_broken_file_of_a_search_is_named(tmp_path, capsys, text):
    file = tmp_path / "made_up.json.gz"
    write_landscape(file, landscape())
    (tmp_path / "broken.winner.json").write_text(text)
    assert best(["--landscapes", str(file), "--results", str(tmp_path)]) == 2
    assert "broken.winner.json: is no program" in capsys.readouterr().err


class Device:
    """A worker of this machine; what it judges is faster or slower by its hash."""

    description = {"device_class": "cpu", "model": "a made-up processor"}

    def __init__(self, name):
        assert name == "cpu"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return

    def evaluate_batch(self, requests):
        return map(self._judged, requests)

    def _judged(self, request):
        ratio = 1.0 + 0.1 * len(request.candidate.hash.strip("0123456789"))
        speedup = Interval(value=ratio, low=ratio - 0.01, high=ratio + 0.01)
        return Evaluation(
            status=EvaluationStatus.PASSED,
            tier=request.tier,
            purpose=request.purpose,
            candidate=request.candidate.hash,
            environment=ENVIRONMENT,
            cases=(self._timing(speedup, 100 / ratio),),
            speedup=speedup,
            median_us=100 / ratio,
            baseline="eager",
            method=TimingMethod.SLOPE,
        )

    @staticmethod
    def _timing(speedup, median_us):
        return CaseTiming(
            case="main",
            median_us=median_us,
            p10_us=median_us,
            p90_us=median_us,
            samples=9,
            baseline_us=100,
            speedup=speedup,
        )


FIND = ["--workload", "softmax", "--language", "cpp", "--device", "cpu", "--budget", "8"]


def test_a_search_leaves_its_fastest_program_and_the_line_that_measures_it(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(finding, "StdioDevice", Device)
    assert find([*FIND, "--out", str(tmp_path)]) == 0
    told = capsys.readouterr()
    assert told.out.startswith("python3 -m gpuworker evaluate --device cpu ")
    assert "--workload " + str(tmp_path / "cpu_softmax_main_found.workload.json") in told.out
    winner = Winner.load(json.loads((tmp_path / "cpu_softmax_main_found.winner.json").read_text()))
    assert winner.device == "a made-up processor"
    assert read_knobs(Language.CPP, (tmp_path / "cpu_softmax_main_found.cpp").read_text()) == winner.knobs
    assert [case.name for case in winner.workload.cases if case.timed] == ["main"]
    assert told.err.count("PASSED") >= 8


def test_a_search_among_given_actions_has_structures_of_these_alone(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(finding, "StdioDevice", Device)
    assert find([*FIND, "--actions", "resident_row", "vector_lanes", "--out", str(tmp_path)]) == 0
    words = {word for line in capsys.readouterr().err.splitlines() for word in line.split()[2:6]}
    assert "resident_row" in words
    assert not words & {"split_row", "online_softmax", "polynomial_exp"}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (["--case", "nowhere"], "nowhere"),
        (["--actions", "resident_row", "wishful_thinking"], "wishful_thinking"),
        (["--workload", "nothing.json"], "nothing.json"),
        (["--budget", "1"], "evaluations"),
    ],
)
def test_a_search_that_cannot_begin_says_why(tmp_path, capsys, monkeypatch, change, named):
    monkeypatch.setattr(finding, "StdioDevice", Device)
    assert find([*FIND, *change, "--out", str(tmp_path)]) == 2
    assert named in capsys.readouterr().err


def test_a_landscape_that_is_not_there_is_named(capsys):
    assert best(["--landscapes", "nowhere"]) == 2
    assert "nowhere" in capsys.readouterr().err
