"""Blueprints: identity by choices, and how far apart two structures are."""

from __future__ import annotations

from search.blueprint import Blueprint, distance
from search.library import compose, shipped_library, shipped_workload
from search.records import Language

LIBRARY = shipped_library()


def softmax(*actions: str) -> Blueprint:
    return compose(shipped_workload("softmax"), LIBRARY, actions, Language.CPP)


def test_it_round_trips_through_json():
    blueprint = softmax("online_softmax", "vector_lanes")
    assert Blueprint.load(blueprint.dump()) == blueprint


def test_the_fingerprint_is_the_choices():
    blueprint = softmax("online_softmax")
    renamed = blueprint.model_copy(update={"actions": ("another", "path")})
    assert renamed.fingerprint == blueprint.fingerprint
    assert softmax().fingerprint != blueprint.fingerprint
    elsewhere = blueprint.model_copy(update={"workload": "other"})
    assert elsewhere.fingerprint != blueprint.fingerprint


def test_the_fingerprint_does_not_depend_on_the_order_of_choices():
    blueprint = softmax("online_softmax")
    turned = blueprint.model_copy(update={"choices": dict(reversed(blueprint.choices.items()))})
    assert turned.fingerprint == blueprint.fingerprint


def test_the_contract_carries_structure_clauses_knobs_and_signature():
    blueprint = softmax("split_row")
    contract = blueprint.contract
    assert contract.structure == blueprint.fingerprint
    assert contract.clauses == blueprint.clauses
    assert {knob.name for knob in contract.knobs} >= {"SPLITS"}
    assert contract.signature.axes == ("M", "N")
    assert contract.signature.inputs == {"x": ("M", "N")}
    assert contract.signature.dtypes == {"x": "float32", "y": "float32"}


def test_distance_is_the_share_of_decisions_that_differ():
    assert distance(softmax(), softmax()) == 0.0
    one = distance(softmax(), softmax("vector_lanes"))
    assert 0 < one < distance(softmax(), softmax("vector_lanes", "online_softmax")) <= 1
    assert distance(softmax(), softmax("split_row")) == distance(softmax("split_row"), softmax())


def test_a_title_is_one_line():
    assert softmax().title == "direct"
    assert softmax("vector_lanes", "online_softmax").title == "online_softmax + vector_lanes"
