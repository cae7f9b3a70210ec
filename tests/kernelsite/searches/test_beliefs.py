from __future__ import annotations

import pytest

from kernelsite.searches import beliefs
from kernelsite.searches.beliefs import RECORDED, timeline
from kernelsite.searches.models import Step


@pytest.fixture
def told(launch):
    """Writes steps with these beliefs of structures `a`, `b`, …; gives their timeline."""
    search = launch()

    def tell(*believed):
        Step.objects.bulk_create(
            Step(
                search=search, number=number, kind="explore", stage="explore", state="done", outcome={},
                item={"beliefs": worths, "why": f"step {number}"},
            )
            for number, worths in enumerate(believed, start=1)
        )  # fmt: skip
        return timeline(search)

    return tell


def kinds(found):
    return [(change["step"], change["name"], change["kind"], change["now"]) for change in found["changes"]]


def test_what_is_inserted_rated_and_pruned_is_told_newest_first(told):
    found = told({"a": 1.0}, {"a": 0.8, "b": 1.0}, {}, {"b": 1.0})
    assert kinds(found) == [
        (4, "a", "pruned", None),
        (2, "b", "inserted", 1.0),
        (2, "a", "rated", 0.8),
        (1, "a", "inserted", 1.0),
    ]
    assert found["steps"] == 4


def test_a_line_holds_only_the_steps_at_which_a_worth_moved(told):
    lines = {line["name"]: line["points"] for line in told({"a": 0.5}, {"a": 0.501}, {"a": 0.7})["lines"]}
    assert lines == {"a": [(1, 0.5), (3, 0.7)]}


def test_a_pruned_structure_that_comes_back_is_inserted_again(told):
    assert [change["kind"] for change in told({"a": 1.0, "b": 1.0}, {"b": 1.0}, {"a": 0.9, "b": 1.0})["changes"]] == [
        "inserted", "pruned", "inserted", "inserted"
    ]  # fmt: skip


def test_leaving_a_full_list_is_not_taken_for_pruning(told):
    full = {f"s{number}": 1.0 for number in range(RECORDED)}
    last = dict(list(full.items())[1:]) | {"new": 2.0}
    assert {change["kind"] for change in told(full, last)["changes"]} == {"inserted"}


def test_only_the_latest_changes_are_listed_and_all_are_counted(told, monkeypatch):
    monkeypatch.setattr(beliefs, "CHANGES_SHOWN", 2)
    found = told(*({"a": step / 10} for step in range(1, 6)))
    assert (found["change_count"], [change["step"] for change in found["changes"]]) == (5, [5, 4])


def test_a_search_that_holds_none_has_an_empty_timeline(told):
    assert told({}, {}) == {"steps": 2, "lines": [], "changes": [], "change_count": 0}


def test_the_endpoint_and_the_page_tell_them(launch, wire, client, alice):
    client.force_login(alice)
    search = launch(strategy="world_model", budget=12)
    wire.run()
    document = client.get(f"/searches/{search.pk}/beliefs.json").json()
    assert document["lines"]
    assert {change["kind"] for change in document["changes"]} >= {"inserted", "rated"}
    page = client.get(f"/searches/{search.pk}/").content.decode()
    assert 'id="panel-beliefs"' in page
    assert document["changes"][0]["why"] in page.replace("&#x27;", "'")


def test_strategies_without_beliefs_show_no_such_tab(launch, wire, client, alice):
    client.force_login(alice)
    search = launch(budget=4)
    assert "panel-beliefs" not in client.get(f"/searches/{search.pk}/").content.decode()
