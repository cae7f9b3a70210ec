from __future__ import annotations

from kernelsite.searches.keys import read_key
from kernelsite.searches.knob_table import knob_effects
from kernelsite.searches.models import StructureStatus
from kernelsite.searches.outline import COLUMNS, board, failures, outline
from search.records import Knob


def structure(number, parent, *actions):
    return {"number": number, "parent": parent, "actions": list(actions)}


def told(rows):
    return [(item["row"]["number"], item["depth"], item["name"]) for item in outline(rows)]


def test_structures_stand_below_their_parents_and_say_what_they_add():
    rows = [
        structure(1, None),
        structure(3, 1, "online_softmax"),
        structure(2, 1, "row_groups"),
        structure(4, 3, "online_softmax", "split_row"),
    ]
    assert told(rows) == [
        (1, 0, "direct"),
        (2, 1, "row groups"),
        (3, 1, "online softmax"),
        (4, 2, "split row"),
    ]


def test_a_structure_with_an_unknown_parent_is_a_root():
    assert told([structure(5, 9, "a")]) == [(5, 0, "a")]


def test_a_thousand_levels_are_no_recursion():
    assert len(told([structure(n, n - 1 or None) for n in range(1, 2001)])) == 2000


def candidate(state, status=None):
    return {"state": state, "status": status}


def test_failures_are_grouped_with_the_most_frequent_first():
    rows = [
        candidate("done", "PASSED"),
        candidate("running"),
        candidate("lost"),
        candidate("done", "TIMEOUT"),
        candidate("done", "TIMEOUT"),
    ]
    samples = {"TIMEOUT": {"candidate": "1.1.001", "text": "took too long"}}
    groups = failures(rows, samples)
    assert [(group["cause"], len(group["rows"])) for group in groups] == [("TIMEOUT", 2), ("lost", 1)]
    assert [group["sample"] for group in groups] == [samples["TIMEOUT"], None]


def standing(number, status, speedup=None):
    best = {"speedup": speedup} if speedup else None
    return structure(number, None, f"action_{number}") | {"status": status, "best": best}


def test_the_board_holds_every_structure_once_and_the_best_first():
    rows = [
        standing(1, "open", 1.5),
        standing(2, "tuned", 3.0),
        standing(3, "probing"),
        standing(4, "failed"),
        standing(5, "open", 2.5),
        standing(6, "dropped", 1.1),
    ]
    columns = {column["name"]: [row["number"] for row in column["rows"]] for column in board(rows)}
    assert columns == {"Open": [5, 1, 3], "Retained": [], "Tuning": [], "Tuned": [2], "Not retained": [6, 4]}


def test_every_status_of_a_structure_has_a_column():
    assert sorted(status for statuses in COLUMNS.values() for status in statuses) == sorted(StructureStatus)


def measured(speedup, status="PASSED", **knobs):
    return {"purpose": "search", "status": status, "speedup": speedup, "knobs": knobs}


def test_the_knob_with_the_widest_spread_comes_first():
    knobs = [Knob(name="A", choices=(1, 2), default=1), Knob(name="B", choices=(1, 2), default=1)]
    rows = [
        measured(1.0, A=1, B=1),
        measured(1.1, A=2, B=1),
        measured(3.0, A=2, B=2),
        measured(None, "TIMEOUT", A=1, B=2),
    ]
    table = knob_effects(knobs, rows)
    assert [row["knob"].name for row in table] == ["A", "B"]
    first, second = table[0]["values"]
    assert (first["tried"], first["passed"], first["best"], first["is_default"]) == (2, 1, 1.0, True)
    assert (second["best"], second["median"], second["share"]) == (3.0, 2.05, 1.0)


def test_a_value_that_never_passed_has_no_best():
    (row,) = knob_effects([Knob(name="A", choices=(1, 2), default=1)], [measured(None, "CRASH", A=2)])
    assert [value["best"] for value in row["values"]] == [None, None]
    assert row["spread"] is None


def test_keys_are_read_back_and_nonsense_is_not():
    key = read_key("142.17.031c")
    assert (key.search, key.structure, key.number, key.purpose) == (142, 17, 31, "confirm")
    assert read_key("142.17.031").purpose == "search"
    for nonsense in ["", "142.17", "142.17.031z", "a.b.c", "1.1.1cc"]:
        assert read_key(nonsense) is None
