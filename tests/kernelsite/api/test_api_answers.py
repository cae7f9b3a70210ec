"""What every answer has: entity tag, chosen fields, problem documents, rate limit."""

from __future__ import annotations

import pytest
from django.db import OperationalError

from kernelsite.accounts.models.token import PER_MINUTE
from kernelsite.api import devices
from kernelsite.api.answers import chosen

BODY = {"workload": "softmax", "options": {"budget": {"evaluations": 8}}}


def test_what_the_client_has_is_not_sent_again(call, site):
    number = call("post", "/searches", BODY).json()["id"]
    first = call("get", f"/searches/{number}/snapshot")
    assert first.headers["Cache-Control"] == "private, no-cache"
    again = call("get", f"/searches/{number}/snapshot", If_None_Match=first.headers["ETag"])
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["ETag"] == first.headers["ETag"]
    call("post", f"/searches/{number}/pause")
    assert call("get", f"/searches/{number}/snapshot", If_None_Match=first.headers["ETag"]).status_code == 200


def test_only_the_fields_that_were_asked_for(call, site):
    number = call("post", "/searches", BODY).json()["id"]
    one = call("get", f"/searches/{number}?fields=id,budget.evaluations.cap,best.speedup").json()
    assert one == {"id": number, "budget": {"evaluations": {"cap": 8.0}}, "best": None}
    page = call("get", "/searches?fields=state").json()
    assert page == {"items": [{"state": "queued"}], "next": None}
    wrong = call("get", f"/searches/{number}?fields=id,luck")
    assert wrong.status_code == 422
    assert wrong.json()["errors"] == [{"field": "fields", "message": "there is no field 'luck'"}]


def test_fields_of_rows_that_differ():
    rows = [{"a": {"b": 1, "c": 2}}, {"a": None}, {"d": 3}]
    assert chosen(rows, "a.b, d") == [{"a": {"b": 1}}, {"a": None}, {"d": 3}]
    assert chosen({"items": rows, "next": 7}, "a")["next"] == 7
    assert chosen([], "whatever") == []


def test_wrong_addresses_and_methods_are_told_as_problems(call, site):
    missing = call("get", "/nothing")
    wrong = call("delete", "/searches")
    assert (missing.status_code, wrong.status_code) == (404, 405)
    assert set(wrong.headers["Allow"].split(", ")) == {"GET", "POST"}
    for answer in (missing, wrong, call("post", "/searches", [1])):
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert answer.json()["status"] == answer.status_code


def test_a_database_that_does_not_answer_is_asked_later(call, site, monkeypatch):
    def broken():
        raise OperationalError("too many connections for role secret_name")

    monkeypatch.setattr(devices.Device.objects, "all", broken)
    answer = call("get", "/devices")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
    assert "secret_name" not in answer.text


def test_what_nobody_foresaw_tells_nothing_of_itself(call, site, monkeypatch, caplog):
    def broken():
        raise ZeroDivisionError("inner words")

    monkeypatch.setattr(devices.Device.objects, "all", broken)
    answer = call("get", "/devices")
    assert answer.status_code == 500
    assert "inner words" not in answer.text
    assert any("ZeroDivisionError" in record.getMessage() for record in caplog.records)


def test_a_token_s_requests_are_counted(call, site, team, monkeypatch):
    first = call("get", "/devices")
    assert first.headers["RateLimit-Limit"] == str(PER_MINUTE)
    left = int(call("get", "/devices").headers["RateLimit-Remaining"])
    assert left <= int(first.headers["RateLimit-Remaining"]) or left == PER_MINUTE - 1
    monkeypatch.setattr("kernelsite.accounts.models.token.PER_MINUTE", 0)
    over = call("get", "/devices")
    assert over.status_code == 429
    assert 1 <= int(over.headers["Retry-After"]) <= 60


@pytest.mark.parametrize(
    "text", ["{", '{"workload": "softmax", "options": {"budget": {"evaluations": NaN}}}', "[" * 100_000]
)
def test_bodies_that_are_no_json_are_refused(call, site, text):
    answer = call("post", "/searches", text)
    assert answer.status_code in (400, 422)
    assert answer.headers["Content-Type"] == "application/problem+json"
