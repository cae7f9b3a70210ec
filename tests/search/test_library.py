"""The action library: what ships is sound, what is wrong is named, composition does not depend on order."""

from __future__ import annotations

import copy
import json
import re

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from search.compose import choose
from search.library import (
    ActionFamily,
    ActionLibrary,
    CompositionError,
    LibraryError,
    applicable,
    compose,
    load_library,
    shipped_library,
    shipped_workload,
    structures,
    traits,
)
from search.records import ClauseKind, Language

LIBRARY = shipped_library()
CELLS = [
    (slug, language)
    for slug in ("softmax", "rmsnorm", "gemm_bias_gelu")
    for language in (Language.CPP, Language.TRITON)
]


def small() -> dict:
    """A library small enough to break in one place."""
    return {
        "name": "small",
        "version": "1",
        "title": "Small",
        "decisions": [
            {
                "name": "ownership",
                "when": ["trait softmax"],
                "initial": "row",
                "words": {"row": "one row", "rows": "several rows"},
            },
            {
                "name": "exp",
                "when": ["trait softmax"],
                "initial": "libm",
                "words": {"libm": "library", "polynomial": "polynomial"},
            },
        ],
        "knobs": [{"name": "TASK", "choices": [1, 2], "default": 1}],
        "actions": [action("groups", {"ownership": "rows"}), action("poly", {"exp": "polynomial"})],
    }


def action(name: str, sets: dict[str, str], **more) -> dict:
    return {
        "id": name,
        "family": "decomposition",
        "title": name,
        "summary": name,
        "when": ["trait softmax"],
        "sets": sets,
        "contract": "kept",
        "notes": "none",
        **more,
    }


def problem(change) -> str:
    document = small()
    change(document)
    with pytest.raises(LibraryError) as caught:
        load_library(json.dumps(document), "small.yaml")
    return str(caught.value)


# What ships ----------------------------------------------------------------------------------------


def test_the_shipped_library_has_what_the_workloads_need():
    assert len(LIBRARY.actions) >= 20
    assert len({action.family for action in LIBRARY.actions}) >= 6
    assert all(len(action.notes) > 80 and action.sources for action in LIBRARY.actions)


def test_it_round_trips_through_json_and_keeps_its_hash():
    again = load_library(json.dumps(LIBRARY.dump()), "again.json")
    assert again == LIBRARY
    assert again.hash == LIBRARY.hash
    assert ActionLibrary.load(LIBRARY.dump()) == LIBRARY


@pytest.mark.parametrize(("slug", "language"), CELLS)
def test_every_structure_has_knobs_clauses_and_its_own_fingerprint(slug, language):
    found = list(structures(shipped_workload(slug), LIBRARY, language))
    assert len(found) >= 15
    assert len({blueprint.fingerprint for blueprint in found}) == len(found)
    for blueprint in found:
        assert len(blueprint.knobs) >= 2, blueprint.title
        names = [knob.name for knob in blueprint.knobs]
        assert len(set(names)) == len(names)
        kinds = {clause.kind for clause in blueprint.clauses}
        assert kinds >= {ClauseKind.KERNELS, ClauseKind.INTERMEDIATES}
        if blueprint.choices.get("ownership") in {"row", "rows", "tile", "split_row", "split_k"}:
            assert kinds >= {ClauseKind.GRID, ClauseKind.REDUCTION, ClauseKind.NUMERICS}
        tensors = {tensor.name for tensor in blueprint.intermediates}
        (intermediates,) = [c for c in blueprint.clauses if c.kind is ClauseKind.INTERMEDIATES]
        assert set(intermediates.value) == tensors
        kernels = {kernel.name for kernel in blueprint.kernels}
        assert {t.written_by for t in blueprint.intermediates} <= kernels
        assert {t.read_by for t in blueprint.intermediates} <= kernels


@pytest.mark.parametrize(("slug", "language"), CELLS)
def test_no_actions_make_the_direct_implementation(slug, language):
    direct = compose(shipped_workload(slug), LIBRARY, (), language)
    assert direct.actions == ()
    assert direct.title == "direct"


# Composition ---------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(CELLS), st.data())
def test_the_order_of_actions_never_matters(cell, data):
    slug, language = cell
    workload = shipped_workload(slug)
    blueprint = compose(workload, LIBRARY, (), language)
    for _ in range(data.draw(st.integers(1, 5))):
        following = applicable(workload, LIBRARY, blueprint, language)
        if not following:
            break
        chosen = data.draw(st.sampled_from([one.id for one in following]))
        blueprint = compose(workload, LIBRARY, (*blueprint.actions, chosen), language)
    shuffled = data.draw(st.permutations(blueprint.actions))
    assert compose(workload, LIBRARY, shuffled, language) == blueprint


def test_applicable_actions_lead_to_other_structures():
    workload = shipped_workload("softmax")
    blueprint = compose(workload, LIBRARY, ("online_softmax",), Language.CPP)
    following = applicable(workload, LIBRARY, blueprint, Language.CPP)
    assert {"row_groups", "vector_lanes"} <= {action.id for action in following}
    assert not {"online_softmax", "split_row", "stored_exponentials"} & {action.id for action in following}
    only = applicable(workload, LIBRARY, blueprint, Language.CPP, allowed=("vector_lanes", "split_row"))
    assert [action.id for action in only] == ["vector_lanes"]


@pytest.mark.parametrize(
    ("actions", "language", "words"),
    [
        (("online_softmax", "stored_exponentials"), Language.CPP, "both set reduction"),
        (("vector_lanes",), Language.TRITON, "is not for triton"),
        (("split_k",), Language.CPP, "needs `trait contraction`"),
        (("split_row", "persistent_rows"), Language.CPP, "needs `choice ownership is row or rows`"),
        (("no_such_action",), Language.CPP, "has no such action"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(actions, language, words):
    with pytest.raises(CompositionError, match=words):
        compose(shipped_workload("softmax"), LIBRARY, actions, language)


def test_a_requirement_and_a_conflict_are_kept():
    document = small()
    document["actions"][0]["conflicts"] = ["poly"]
    document["actions"].append(action("both", {"exp": "polynomial"}, requires=["groups"]))
    library = load_library(yaml.safe_dump(document), "small.yaml")
    workload = shipped_workload("softmax")
    with pytest.raises(CompositionError, match="conflicts with poly"):
        compose_choices(library, workload, ["groups", "poly"])
    with pytest.raises(CompositionError, match="requires groups"):
        compose_choices(library, workload, ["both"])
    assert compose_choices(library, workload, ["groups", "both"]) == {
        "ownership": "rows",
        "exp": "polynomial",
    }


def compose_choices(library, workload, ids):
    return choose(library, [library.action(name) for name in ids], traits(workload), Language.CPP)


def test_a_device_predicate_counts_only_where_the_device_is_known():
    document = copy.deepcopy(LIBRARY.dump())
    for one in document["actions"]:
        if one["id"] == "online_softmax":
            one["when"].append("device gpu")
    library, workload = ActionLibrary.load(document), shipped_workload("softmax")
    direct = compose(workload, library, (), Language.CPP)

    def offered(device_class: str) -> bool:
        found = applicable(workload, library, direct, Language.CPP, device_class=device_class)
        return "online_softmax" in {one.id for one in found}

    assert offered("")
    assert offered("h200")
    assert not offered("cpu")


def test_traits_come_from_the_public_cases():
    workload = shipped_workload("softmax")
    assert traits(workload) >= {"row_reduction", "row_output", "softmax", "exponentials", "wide_rows"}
    assert not traits(workload) & {"contraction", "low_precision", "unordered_sums"}
    narrow = workload.model_copy(update={"cases": tuple(c for c in workload.cases if c.name != "wide")})
    assert "wide_rows" not in traits(narrow)
    assert "split_row" not in {
        one.id
        for one in applicable(narrow, LIBRARY, compose(narrow, LIBRARY, (), Language.CPP), Language.CPP)
    }


def test_a_workload_without_decisions_is_refused():
    rows_only = LIBRARY.model_copy(
        update={"decisions": tuple(one for one in LIBRARY.decisions if "trait composite" not in one.when)}
    )
    workload = shipped_workload("softmax").model_copy(update={"op_type": "sort"})
    with pytest.raises(CompositionError, match="knows no decision"):
        compose(workload, rows_only, (), Language.CPP)


# What is wrong is named ------------------------------------------------------------------------------


def test_the_small_library_is_sound():
    library = load_library(yaml.safe_dump(small()), "small.yaml")
    assert library.action("poly").family is ActionFamily.DECOMPOSITION
    with pytest.raises(KeyError, match="no action 'other'"):
        library.action("other")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda d: d["actions"][0].update(when=["weather is fine"]),
            "action groups: field when.*unknown predicate",
        ),
        (
            lambda d: d["actions"][0].update(when=["trait sparkling"]),
            "action groups: field when.*unknown trait",
        ),
        (
            lambda d: d["actions"][0].update(when=["device toaster"]),
            "action groups: field when.*unknown predicate",
        ),
        (
            lambda d: d["actions"][0].update(conflicts=["ghost"]),
            "action groups: field conflicts: no action 'ghost'",
        ),
        (
            lambda d: d["actions"][0].update(requires=["ghost"]),
            "action groups: field requires: no action 'ghost'",
        ),
        (
            lambda d: d["actions"][0].update(requires=["groups"]),
            "action groups: field requires: names itself",
        ),
        (
            lambda d: (
                d["actions"][0].update(requires=["poly"]),
                d["actions"][1].update(requires=["groups"]),
            ),
            "action groups: field requires: cycle groups → poly → groups",
        ),
        (
            lambda d: d["actions"][0].update(when=["trait softmax", "trait contraction"]),
            "action groups: field when: no structure can ever take it",
        ),
        (
            lambda d: d["actions"][0].update(knobs=[{"name": "ROWS", "choices": [], "default": 1}]),
            "action groups: field knobs.ROWS.choices: .*at least 1 item",
        ),
        (
            lambda d: d["actions"][0].update(knobs=[{"name": "ROWS", "choices": [2, 4], "default": 3}]),
            "action groups: field knobs.ROWS: .*default 3 is not one of its choices",
        ),
        (
            lambda d: d["actions"][0].update(knobs=[{"name": "TASK", "choices": [4], "default": 4}]),
            "field knobs.TASK: opened twice in cpp",
        ),
        (
            lambda d: d["actions"][0].update(sets={"colour": "red"}),
            "action groups: field sets: no decision 'colour'",
        ),
        (
            lambda d: d["actions"][0].update(sets={"exp": "red"}),
            "action groups: field sets: exp has no word 'red'",
        ),
        (
            lambda d: d["actions"][0].update(when=["choice exp is libm or red"]),
            "action groups: field when: exp has no word 'red'",
        ),
        (
            lambda d: d["knobs"][0].update(when=["choice hue is red"]),
            "field knobs.TASK.when: no decision 'hue'",
        ),
        (lambda d: d["actions"].append(d["actions"][0]), "action groups: field id: stands 2 times"),
        (lambda d: d["decisions"].append(d["decisions"][0]), "decision ownership: field when: two apply to"),
        (
            lambda d: d["decisions"][0].update(initial="none"),
            "decision ownership: .*'none'.* not among the words",
        ),
        (lambda d: d["actions"][0].update(family="cooking"), "action groups: field family"),
        (lambda d: d["actions"][0].update(colour="red"), "action groups: field colour: Extra inputs"),
        (lambda d: d["actions"][0].pop("notes"), "action groups: field notes: Field required"),
        (lambda d: d.pop("decisions"), "field decisions: Field required"),
    ],
)
def test_an_error_names_file_action_and_field(change, words):
    text = problem(change)
    assert text.startswith("small.yaml: ")
    assert re.search(words, text), text


def test_every_problem_is_told_at_once():
    def change(document):
        document["actions"][0]["conflicts"] = ["ghost"]
        document["actions"][1]["sets"] = {"exp": "red"}

    assert len(problem(change).splitlines()) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "must be a mapping"),
        ("- a\n- b\n", "must be a mapping"),
        ("name: [1, 2", "line"),
        ("name: core\nname: core\n", "a key stands twice"),
        ("a: &x [1]\nb: *x\n", "aliases are not allowed"),
        ("name: 2020-01-01\n", "holds a value that JSON does not know"),
        ("name: .nan\n", "holds a value that JSON does not know"),
        ("!!python/object/apply:os.system [ls]\n", "is no YAML|could not determine|line"),
        ("[" * 1500, "is no YAML|line"),
        ("name: " + "x" * 600_000, "is longer than"),
    ],
)
def test_a_text_that_is_no_library_is_refused(text, words):
    with pytest.raises(LibraryError, match=words):
        load_library(text, "bad.yaml")


@pytest.mark.parametrize("name", ["other", "../core", "/etc/passwd", ""])
def test_only_shipped_names_are_found(name):
    with pytest.raises(KeyError):
        shipped_library(name)
    with pytest.raises(KeyError):
        shipped_workload(name)
