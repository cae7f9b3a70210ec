"""Results and the log over the API, of a search that has grown."""

from __future__ import annotations

import threading
import time

import pytest
from django.db import connection

from kernelsite.api import records, waiting
from kernelsite.searches import controls, events
from kernelsite.searches.models import Search
from search.records import EventKind

BODY = {"workload": "softmax", "options": {"budget": {"evaluations": 8}}}


@pytest.fixture
def number(call, site):
    return call("post", "/searches", BODY).json()["id"]


def tell(number, text):
    with events.locked(number) as search:
        events.append(search, EventKind.STATE, text)


def pages(call, path):
    cursor, found = 0, []
    while cursor is not None:
        page = call("get", f"{path}{'&' if '?' in path else '?'}limit=2&after={cursor}").json()
        found += page["items"]
        cursor = page["next"]
    return found


def test_rows_are_those_of_the_page(call, grown):
    search = f"/searches/{grown.pk}"
    whole = call("get", f"{search}/snapshot").json()
    structures, candidates = pages(call, f"{search}/structures"), pages(call, f"{search}/candidates")
    assert [row["id"] for row in structures] == [row["id"] for row in whole["structures"]]
    assert [row["id"] for row in candidates] == [row["id"] for row in whole["candidates"]]
    assert set(structures[0]) == set(whole["structures"][0]) >= set(records.StructureAnswer.model_fields)
    assert set(candidates[0]) == set(whole["candidates"][0]) >= set(records.CandidateAnswer.model_fields)
    assert set(call("get", search).json()) == set(whole["search"]) >= set(records.SearchAnswer.model_fields)
    number = structures[-1]["number"]
    own = pages(call, f"{search}/candidates?structure={number}")
    assert own == [row for row in candidates if row["structure"] == number]
    passed = call("get", f"{search}/candidates?status=PASSED&limit=200").json()["items"]
    assert passed == [row for row in candidates if row["status"] == "PASSED"]


def test_a_candidate_with_its_program_and_files(call, grown):
    row = pages(call, f"/searches/{grown.pk}/candidates")[0]
    program = call("get", f"/candidates/{row['id']}").json()
    assert program["sources"][0]["content"]
    assert {name: program[name] for name in row} == row
    attempts = call("get", f"/candidates/{row['id']}/evaluations").json()
    assert {(each["counted"], each["attempt"]) for each in attempts} == {(True, 1)}
    source = call("get", f"/candidates/{row['id']}/files/source")
    assert "attachment" in source.headers["Content-Disposition"]
    none = call("get", f"/candidates/{row['id']}/files/solution")
    assert (none.status_code, none.headers["Content-Type"]) == (409, "application/problem+json")
    structure = call("get", f"/structures/{grown.pk}.{row['structure']}").json()
    assert structure["blueprint"]["actions"] == structure["actions"]
    for path in ("/candidates/1.1", "/structures/1.1.1", f"/structures/{grown.pk}.99999"):
        assert call("get", path).status_code in (404, 422)


def test_the_log_is_read_on_from_a_number(call, number):
    tell(number, "one")
    tell(number, "two")
    first = call("get", f"/searches/{number}/events?limit=2").json()
    assert [row["seq"] for row in first["items"]] == [1, 2]
    rest = call("get", f"/searches/{number}/events?after={first['next']}").json()
    assert [row["text"] for row in rest["items"]] == ["two"]
    assert (rest["next"], rest["seq"], rest["epoch"]) == (3, 3, first["epoch"])
    assert rest["items"][0]["search"]["state"] == "queued"
    nothing = call("get", f"/searches/{number}/events?after=3").json()
    assert (nothing["items"], nothing["next"]) == ([], 3)
    assert call("get", f"/searches/{number}/events?wait=26").status_code == 422


def test_a_long_poll_ends_with_the_event(transactional_db, call, number, monkeypatch):
    # The layer of tests does not carry a bell into another thread's loop.
    monkeypatch.setattr(waiting, "LOOK_S", 0.2)

    def later():
        time.sleep(0.4)
        tell(number, "heard")
        connection.close()

    teller = threading.Thread(target=later)
    teller.start()
    began = time.monotonic()
    answer = call("get", f"/searches/{number}/events?after=1&wait=20").json()
    took = time.monotonic() - began
    teller.join()
    assert [row["text"] for row in answer["items"]] == ["heard"]
    assert 0.3 < took < 8


def test_a_long_poll_ends_with_the_time_and_with_the_search(transactional_db, call, number):
    began = time.monotonic()
    assert call("get", f"/searches/{number}/events?after=1&wait=0.3").json()["items"] == []
    assert 0.3 <= time.monotonic() - began < 5
    controls.stop(number)
    last = Search.objects.get().event_seq
    began = time.monotonic()
    over = call("get", f"/searches/{number}/events?after={last}&wait=20").json()
    assert (over["items"], over["state"]) == ([], "stopped")
    assert time.monotonic() - began < 5


def test_caps_move_and_one_stays(call, number):
    assert call("put", f"/searches/{number}/caps", {"tokens": 900, "cost_usd": None}).status_code == 200
    assert Search.objects.get().tokens_cap == 900
    none = call("put", f"/searches/{number}/caps", {"tokens": None, "cost_usd": None})
    assert (none.status_code, "Keep a cap" in none.json()["errors"][0]["message"]) == (422, True)
    controls.stop(number)
    over = call("put", f"/searches/{number}/caps", {"tokens": 901, "cost_usd": None})
    assert over.status_code == 409


def test_sets_are_kept_and_forgotten_under_their_name(call, number):
    body = {"title": "Both", "searches": [number]}
    first = call("put", "/saved-sets/both", body)
    second = call("put", "/saved-sets/both", body | {"note": "again"})
    assert (first.status_code, second.status_code) == (201, 200)
    assert call("get", "/saved-sets/both").json()["note"] == "again"
    assert call("get", "/saved-sets").json()["items"][0]["searches"] == [number]
    for wrong in (body | {"searches": [number, 10**6]}, body | {"title": ""}):
        assert call("put", "/saved-sets/both", wrong).status_code == 422
    assert call("put", "/saved-sets/pick", body).json()["errors"][0]["field"] == "slug"
    assert call("delete", "/saved-sets/both").status_code == 204
    assert call("get", "/saved-sets/both").status_code == 404
