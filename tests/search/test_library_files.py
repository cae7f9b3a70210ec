"""Libraries of several files, optional decisions, the difference of two versions, and the command."""

from __future__ import annotations

import json

import pytest
import yaml

from search.actions import ActionLibrary
from search.commands import COMMANDS
from search.library import (
    LibraryError,
    applicable,
    compose,
    load_files,
    load_path,
    shipped_library,
    shipped_workload,
    structures,
)
from search.library_diff import EntryKind, diff, render
from search.records import Language

LIBRARY = shipped_library()
SOFTMAX = shipped_workload("softmax")

HEAD = "name: small\nversion: '1'\ntitle: Small\n"
OWNERSHIP = """
decisions:
  - {name: ownership, when: [trait softmax], initial: row, words: {row: one row, rows: several rows}}
actions:
  - id: groups
    family: decomposition
    title: Groups
    summary: Groups
    when: [trait softmax]
    sets: {ownership: rows}
    knobs: [{name: ROWS, choices: [2, 4], default: 2}]
    contract: kept
    notes: none
"""
EXP = """
decisions:
  - {name: exp, when: [trait softmax], optional: true, initial: libm, words: {libm: a, polynomial: b}}
knobs:
  - {name: TASK, choices: [1, 2], default: 1}
actions:
  - id: poly
    family: numerics
    title: Polynomial
    summary: Polynomial
    when: [trait softmax]
    sets: {exp: polynomial}
    contract: kept
    notes: none
"""
FILES = {"small/_library.yaml": HEAD, "small/a.yaml": OWNERSHIP, "small/b.yaml": EXP}


def problem(**changed: str) -> str:
    with pytest.raises(LibraryError) as caught:
        load_files(FILES | {f"small/{name}.yaml": text for name, text in changed.items()}, "small")
    return str(caught.value)


# Files ----------------------------------------------------------------------------------------------


def test_files_are_merged_in_their_order():
    library = load_files(FILES, "small")
    assert [action.id for action in library.actions] == ["groups", "poly"]
    assert [decision.name for decision in library.decisions] == ["ownership", "exp"]
    assert library.title == "Small"


def test_a_folder_is_its_files_and_equals_one_file_of_all(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name.split("/")[1]).write_text(text)
    whole = tmp_path / "whole.json"
    whole.write_text(json.dumps(load_path(tmp_path).dump()))
    assert load_path(whole) == load_path(tmp_path)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (
            {"b": EXP.replace("polynomial}", "quick}")},
            "small/b.yaml: action poly: field sets: exp has no word 'quick'",
        ),
        (
            {"b": EXP.replace("family: numerics", "family: cooking")},
            "small/b.yaml: action poly: field family",
        ),
        ({"b": EXP.replace("default: 1", "default: 3")}, "small/b.yaml: field knobs.TASK: "),
        ({"a": OWNERSHIP.replace("initial: row,", "initial: none,")}, "small/a.yaml: decision ownership: "),
        (
            {"b": EXP.replace("id: poly", "id: groups")},
            "small/a.yaml, small/b.yaml: action groups: field id: stands 2",
        ),
        (
            {"b": EXP.replace("TASK", "ROWS")},
            "small/a.yaml: action groups: field knobs.ROWS: opened twice in cpp",
        ),
        ({"b": "name: again\n" + EXP}, "small/b.yaml: field name: stands in another file of small too"),
        ({"b": "actions: {poly: 1}\n"}, "small/b.yaml: field actions: must be a list"),
        ({"b": "actions: [1, 2\n"}, "small/b.yaml: line"),
        ({"_library": "name: small\n"}, "small: field version: Field required"),
    ],
)
def test_a_problem_names_the_file_it_is_in(changed, words):
    assert problem(**changed).startswith(words)


def test_a_missing_file_is_a_problem_too(tmp_path):
    with pytest.raises(LibraryError, match="cannot be read"):
        load_path(tmp_path / "none.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(LibraryError, match="cannot be read"):
        load_path(tmp_path / "binary.yaml")


# Optional decisions -----------------------------------------------------------------------------------


def test_an_optional_decision_is_silent_until_an_action_sets_it():
    direct = compose(SOFTMAX, LIBRARY, ("split_row",), Language.CUDA)
    assert "launching" not in direct.choices
    dependent = compose(SOFTMAX, LIBRARY, ("split_row", "dependent_launch"), Language.CUDA)
    assert dependent.choices == direct.choices | {"launching": "dependent"}
    assert dependent.fingerprint != direct.fingerprint


def test_a_precondition_on_a_silent_decision_sees_its_initial_word():
    found = applicable(SOFTMAX, LIBRARY, compose(SOFTMAX, LIBRARY, (), Language.CUDA), Language.CUDA)
    assert {"vector_access", "async_row_copy"} <= {action.id for action in found}
    warp = compose(SOFTMAX, LIBRARY, ("warp_per_row",), Language.CUDA)
    found = applicable(SOFTMAX, LIBRARY, warp, Language.CUDA)
    assert "vector_access" in {action.id for action in found}
    assert "async_row_copy" not in {action.id for action in found}


def test_whole_spaces_leave_optional_decisions_out_unless_they_are_asked_for():
    plain = list(structures(SOFTMAX, LIBRARY, Language.TRITON))
    assert not any("phases" in blueprint.choices for blueprint in plain)
    few = list(structures(SOFTMAX, LIBRARY, Language.TRITON, allowed=("online_softmax", "statistics_kernel")))
    assert [blueprint.title for blueprint in few] == [
        "direct",
        "online_softmax",
        "statistics_kernel",
        "online_softmax + statistics_kernel",
    ]


# Differences --------------------------------------------------------------------------------------------


def changed(edit) -> ActionLibrary:
    document = LIBRARY.dump()
    edit({action["id"]: action for action in document["actions"]}, document)
    return ActionLibrary.load(document)


def test_equal_versions_do_not_differ():
    found = diff(LIBRARY, LIBRARY)
    assert found.is_empty
    assert "no action, decision or knob differs" in render(found)


def test_added_and_removed_actions_are_told_apart():
    fewer = changed(lambda _, d: d["actions"].pop())
    last = LIBRARY.actions[-1].id
    assert [one.name for one in diff(LIBRARY, fewer).removed] == [last]
    assert [one.name for one in diff(fewer, LIBRARY).added] == [last]
    assert f"- action {last}: " in render(diff(LIBRARY, fewer))


def test_a_change_names_the_field_with_both_values():
    def edit(actions, document):
        actions["split_row"]["notes"] = "other"
        actions["split_row"]["sets"]["reduction"] = "online"
        actions["split_row"]["knobs"][0]["choices"] = [2, 4]
        document["title"] = "New"

    (change,) = diff(LIBRARY, changed(edit)).changed
    assert (change.kind, change.name) == (EntryKind.ACTION, "split_row")
    fields = {one.field: (one.old, one.new) for one in change.fields}
    assert fields["sets.reduction"] == ("split_combine", "online")
    assert fields["knobs.SPLITS.choices"] == ([2, 4, 8, 16], [2, 4])
    assert fields["notes"][1] == "other"
    assert len(fields) == 3


def test_decisions_that_share_a_name_are_compared_with_their_like():
    def edit(_, document):
        for decision in document["decisions"]:
            if decision["name"] == "reduction" and decision["when"] == ["trait softmax"]:
                decision["words"]["online"] = "in one go"

    (change,) = diff(LIBRARY, changed(edit)).changed
    assert change.name == "reduction (trait softmax)"
    assert [one.field for one in change.fields] == ["words.online"]


# The command ----------------------------------------------------------------------------------------------


def test_the_command_checks_a_shipped_library(capsys):
    assert COMMANDS["library"](["check", "core"]) == 0
    assert f"{len(LIBRARY.actions)} actions of 9 families" in capsys.readouterr().out


def test_the_command_tells_every_problem_and_fails(tmp_path, capsys):
    file = tmp_path / "bad.yaml"
    file.write_text(HEAD + OWNERSHIP.replace("ownership: rows", "colour: red"))
    assert COMMANDS["library"](["check", str(file)]) == 1
    assert "bad.yaml: action groups: field sets: no decision 'colour'" in capsys.readouterr().err


def test_the_command_shows_a_difference_as_text_and_as_records(tmp_path, capsys):
    file = tmp_path / "old.yaml"
    file.write_text(yaml.safe_dump(changed(lambda a, _: a["split_row"].update(notes="old")).dump()))
    assert COMMANDS["library"](["diff", str(file), "core"]) == 1
    assert "~ action split_row" in capsys.readouterr().out
    assert COMMANDS["library"](["diff", str(file), "core", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["changed"][0]["name"] == "split_row"
    assert COMMANDS["library"](["diff", "core", "core"]) == 0


@pytest.mark.parametrize("name", ["nowhere", "/nowhere/none.yaml"])
def test_the_command_says_what_it_does_not_find(name, capsys):
    assert COMMANDS["library"](["check", name]) == 1
    assert name in capsys.readouterr().err
