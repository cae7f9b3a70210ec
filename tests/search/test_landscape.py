"""The landscape record and its file; what does not fit together is refused by the name of its column."""

from __future__ import annotations

import gzip
import json

import pytest
from landscape_factories import WORKLOAD, landscape

from search.commands.landscape import landscape as show
from search.landscapes.files import (
    LandscapeError,
    device_classes,
    find_landscape,
    landscape_of,
    language_of,
    read_landscape,
    write_landscape,
)
from search.landscapes.landscape import Landscape
from search.records import EvaluationStatus
from search.workload import shipped_workload


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELSITE_LANDSCAPES", str(tmp_path))
    return tmp_path


def test_it_comes_back_from_its_file_as_it_was(tmp_path):
    one, path = landscape(failures=0.3), tmp_path / "made_up.json.gz"
    write_landscape(path, one)
    first = path.read_bytes()
    assert read_landscape(path) == one
    write_landscape(path, one)
    assert path.read_bytes() == first


def test_points_and_their_worth():
    one = landscape(noise=0.1)
    assert len(one.rows) == len(one.truth) == len(one.measurements.structure) / 2
    assert one.missing() == 0
    point = (0, tuple(knob.default for knob in one.structures[0].blueprint.knobs))
    two = [one.measurements.speedup[row] for row in one.rows[point]]
    assert one.truth[point] == pytest.approx(sum(two) / 2)


def test_a_point_that_fails_as_often_as_it_passes_has_no_worth():
    one = landscape()
    table = one.measurements
    columns = {name: list(getattr(table, name)) for name in type(table).model_fields}
    columns["status"][0], columns["message"][0] = EvaluationStatus.COMPILE_ERROR, 0
    for name in ("median_us", "p10_us", "p90_us", "samples", "baseline_us", "speedup", "low", "high"):
        columns[name][0] = None
    changed = one.model_copy(
        update={"measurements": type(table)(**{name: tuple(values) for name, values in columns.items()})}
    )
    assert len(changed.truth) == len(one.truth) - 1


def test_knobs_of_another_name_are_no_recorded_point():
    one = landscape()
    candidate = one.structures[0].candidate(one.language, {"OTHER": 1})
    assert one.rows_of(one.structures[0].candidate(one.language))
    assert one.rows_of(candidate) == ()


def set_at(document, path, value):
    *steps, last = path
    for step in steps:
        document = document[step]
    document[last] = value


BROKEN = [
    (("workload_hash",), "0" * 64, "workload_hash"),
    (("case",), "nowhere", "no case 'nowhere'"),
    (("schema_version",), 2, "schema_version"),
    (("name",), "Not A Name", "name"),
    (("structures", 0, "source_hash"), "0" * 64, r"structures\[0\]\.source_hash"),
    (("structures", 0, "sources", 0, "content"), "int x;", r"structures\[0\]\.source_hash"),
    (("structures", 0, "blueprint", "actions"), ["other"], "the direct implementation comes first"),
    (("measurements", "structure", 0), 99, r"measurements\.structure\[0\]: there is no structure 99"),
    (("measurements", "knobs", 0), [0], r"measurements\.knobs\[0\]: 1 values"),
    (("measurements", "knobs", 0, 0), 77, r"measurements\.knobs\[0\]: knob \w+ has no choice 77"),
    (("measurements", "message", 0), 5, r"measurements\.message\[0\]"),
    (("measurements", "speedup", 0), None, "row 0: PASSED with a time that is not whole"),
    (("measurements", "speedup", 0), 99.0, "row 0: times are above 0"),
    (("measurements", "status", 0), "COMPILE_ERROR", "row 0: COMPILE_ERROR with a time"),
    (("measurements", "charged"), [True], r"measurements\.charged: has 1 rows"),
    (("moves", "weight"), [1.0], r"moves\.weight: has 1 rows"),
    (("moves", "child", 0), -1, r"moves\.child\[0\]: there is no structure -1"),
]


@pytest.mark.parametrize(("path", "value", "problem"), BROKEN)
def test_what_does_not_fit_is_refused_by_name(path, value, problem, tmp_path):
    document = landscape().dump()
    set_at(document, path, value)
    file = tmp_path / "broken.json.gz"
    file.write_bytes(gzip.compress(json.dumps(document).encode()))
    with pytest.raises(LandscapeError, match=rf"broken\.json\.gz: .*{problem}"):
        read_landscape(file)


@pytest.mark.parametrize(
    "data", [b"no gzip", gzip.compress(b"no json", mtime=0), gzip.compress(b"[]", mtime=0), b"", None]
)
def test_a_file_that_is_no_landscape_is_told(data, tmp_path):
    file = tmp_path / "broken.json.gz"
    if data is not None:
        file.write_bytes(data)
    with pytest.raises(LandscapeError, match=r"broken\.json\.gz"):
        read_landscape(file)


def test_a_file_that_was_cut_short_is_told(tmp_path):
    file = tmp_path / "cut.json.gz"
    write_landscape(file, landscape())
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(LandscapeError, match=r"cut\.json\.gz"):
        read_landscape(file)


def test_it_is_found_by_its_name_and_by_its_device(folder):
    write_landscape(folder / "x9_softmax_a.json.gz", landscape("x9_softmax_a"))
    assert "recorded:x9_softmax_a" in device_classes()
    assert landscape_of("recorded:x9_softmax_a", WORKLOAD).name == "x9_softmax_a"
    assert landscape_of("recorded:x9", WORKLOAD).name == "x9_softmax_a"
    assert language_of("recorded:x9") == "cpp"


def test_one_of_another_workload_is_refused(folder):
    write_landscape(folder / "x9_softmax_a.json.gz", landscape("x9_softmax_a"))
    for name in ("recorded:x9_softmax_a", "recorded:x9"):
        with pytest.raises(LandscapeError, match="no landscape of this version of rmsnorm"):
            landscape_of(name, shipped_workload("rmsnorm"))


def test_one_that_is_not_there_is_told_with_those_that_are(folder):
    write_landscape(folder / "x9_softmax_a.json.gz", landscape("x9_softmax_a"))
    with pytest.raises(LandscapeError, match=r"no landscape .nothing.: there are .*x9_softmax_a"):
        find_landscape("nothing")


def test_all_that_ship_can_be_read():
    for device_class in device_classes():
        one = find_landscape(device_class.partition(":")[2])
        assert isinstance(one, Landscape)
        assert one.truth


# The command -----------------------------------------------------------------------------------------


def test_the_command_says_what_matters(tmp_path, capsys):
    file = tmp_path / "made_up.json.gz"
    write_landscape(file, landscape(failures=0.2))
    assert show([str(file), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    worth = [one["best_speedup"] for one in document["structures"]]
    assert worth == sorted(worth, reverse=True)
    assert sum(document["statuses"].values()) == 2 * document["points"]
    assert all(one["pairs"] > 0 for one in document["actions"])
    assert show([str(file)]) == 0
    assert "recorded on Test device, 2026-01-02" in capsys.readouterr().out


def test_the_command_tells_what_is_not_there(folder, capsys):
    write_landscape(folder / "x9_softmax_a.json.gz", landscape("x9_softmax_a"))
    assert show([]) == 0
    assert "x9_softmax_a" in capsys.readouterr().out.splitlines()
    assert show(["nothing"]) == 2
    assert "no landscape 'nothing'" in capsys.readouterr().err
