"""Planners' and analysts' answers: strict where a server obeys a schema, tolerant where it does not."""

from __future__ import annotations

import json

import pytest

from search.agents.llm.schema import (
    ANALYST_SCHEMA,
    PLANNER_SCHEMA,
    AnalystAnswer,
    AnswerError,
    PlannerAnswer,
    read_answer,
)

ONE = '{"structures": [{"actions": ["row_groups"], "reason": "r", "expectation": "e"}]}'
TWO = '{"structures": [{"actions": ["split_row"]}, {"actions": ["resident_row", "vector_lanes"]}]}'

READ = {
    "alone": (ONE, [["row_groups"]]),
    "among prose": (f"Sure! Here is my plan: {ONE} I hope it helps.", [["row_groups"]]),
    "fenced": (f"```json\n{ONE}\n```", [["row_groups"]]),
    "fenced without a word": (f"```\n{ONE}\n```", [["row_groups"]]),
    "the last one counts": (f"{ONE}\nOr rather:\n{TWO}", [["split_row"], ["resident_row", "vector_lanes"]]),
    "fenced ones come before prose": (f"```json\n{ONE}\n```\nThe form was {TWO}", [["row_groups"]]),
    "trailing commas": ('{"structures": [{"actions": ["row_groups",],},],}', [["row_groups"]]),
    "unknown fields": (ONE.replace('"reason"', '"score": 3, "reason"'), [["row_groups"]]),
    "after thoughts": (f"<think>{TWO}</think>{ONE}", [["row_groups"]]),
    "one that does not fit is passed over": (f'{ONE} and {{"structures": 3}}', [["row_groups"]]),
    "nothing is left": ('{"structures": []}', []),
    "braces in prose": (f"Use {{tiles}} here. {ONE}", [["row_groups"]]),
}

REFUSED = {
    "prose": "I would split the row.",
    "empty": "",
    "a list": '["row_groups"]',
    "cut off": ONE[:40],
    "another form": '{"plan": "split_row"}',
    "wrong types": '{"structures": [{"actions": "row_groups"}]}',
    "single quotes": "{'structures': []}",
    "code": "```cpp\nint run() {}\n```",
}


@pytest.mark.parametrize("name", READ)
def test_read(name):
    text, expected = READ[name]
    assert [list(one.actions) for one in read_answer(text, PlannerAnswer).structures] == expected


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    with pytest.raises(AnswerError) as error:
        read_answer(REFUSED[name], PlannerAnswer)
    assert str(error.value)


def test_a_worth_is_between_zero_and_one():
    with pytest.raises(AnswerError, match=r"beliefs\.0\.worth"):
        read_answer('{"beliefs": [{"structure": "S1", "worth": 7}]}', AnalystAnswer)


@pytest.mark.parametrize(
    ("schema", "kind"), [(PLANNER_SCHEMA, PlannerAnswer), (ANALYST_SCHEMA, AnalystAnswer)]
)
def test_a_schema_asks_for_what_its_reader_takes(schema, kind):
    value = _smallest(schema)
    assert read_answer(json.dumps(value), kind).model_dump(mode="json") == value


def test_schemas_are_in_the_strict_subset():
    for schema in (PLANNER_SCHEMA, ANALYST_SCHEMA):
        for node in _objects(schema):
            assert node["additionalProperties"] is False
            assert set(node["required"]) == set(node["properties"])


def test_deep_nesting_ends():
    with pytest.raises(AnswerError):
        read_answer('{"a":' * 20_000, PlannerAnswer)


def _smallest(schema):
    match schema["type"]:
        case "object":
            return {name: _smallest(inner) for name, inner in schema["properties"].items()}
        case "array":
            return [_smallest(schema["items"])]
        case "number":
            return 0.5
    return "x"


def _objects(schema):
    if schema.get("type") == "object":
        yield schema
        for inner in schema["properties"].values():
            yield from _objects(inner)
    if "items" in schema:
        yield from _objects(schema["items"])
