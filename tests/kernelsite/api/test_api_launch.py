"""Launches over the API: presets, clones, comparisons, and one key from many sides at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.test import Client

from kernelsite.accounts.models import AuditEntry
from kernelsite.catalog.models import LibraryVersion, WorkloadVersion
from kernelsite.compare.models import Comparison
from kernelsite.endpoints.models import ModelEndpoint
from kernelsite.searches.models import Search

BODY = {"workload": "softmax", "options": {"budget": {"evaluations": 8}}}
AT_A_TIME = 20


def test_the_body_stands_above_the_preset_and_the_preset_above_the_clone(call, site):
    stages = {"retain": 5, "repairs": 1}
    first = call("post", "/searches", BODY | {"options": {"seed": 7, "stages": stages, "parallel": 2}}).json()
    assert first["budget"]["evaluations"]["cap"] == 40
    body = {"clone": first["id"], "preset": "quick-look", "options": {"seed": 8, "stages": {"finalists": 1}}}
    second = call("post", "/searches", body)
    assert second.status_code == 201
    settings = call("get", f"/searches/{second.json()['id']}/settings").json()
    assert settings["workload"] == "softmax"
    assert (settings["seed"], settings["parallel"], settings["budget"]["evaluations"]) == (8, 2, 24)
    told = {name: settings["stages"][name] for name in ("retain", "repairs", "finalists")}
    assert told == {"retain": 2, "repairs": 1, "finalists": 1}


def test_the_form_tells_what_can_be_chosen(call, site):
    form = call("get", "/launch-form").json()
    assert form["defaults"]["budget"]["evaluations"] == 40
    assert {"quick-look", "standard", "thorough"} == set(form["presets"])
    assert "two_stage" in form["strategies"]
    assert "cpu" in form["device_classes"]


def test_without_a_workload_or_with_a_retired_library_nothing_starts(call, site):
    nameless = call("post", "/searches", {"options": {}})
    assert nameless.json()["errors"][0]["field"] == "workload"
    LibraryVersion.objects.update(status="retired")
    retired = call("post", "/searches", BODY)
    assert (retired.status_code, retired.json()["errors"][0]["field"]) == (422, "library")
    assert call("post", "/searches", {"clone": 10**6, "options": {}}).status_code == 404
    assert not Search.objects.exists()


def test_a_secret_in_a_workload_does_not_go_to_a_model_unasked(call, site, team):
    model = ModelEndpoint.objects.create(team=team, name="m", base_url="http://127.0.0.1:1/v1", model="m")
    row = WorkloadVersion.objects.get(slug="softmax")
    document = row.document | {"title": "password = 'correct-horse'"}
    WorkloadVersion.objects.filter(pk=row.pk).update(document=document)
    options = {"agent": "llm", "endpoints": [model.pk], "budget": {"evaluations": 8, "tokens": 10**8}}
    answer = call("post", "/searches", BODY | {"options": options})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "send_secrets"
    assert "correct-horse" not in answer.text


def test_a_comparison_is_launched_once(call, site):
    body = BODY | {"strategies": ["two_stage", "mixed"], "seeds": [0, 1]}
    first = call("post", "/comparisons", body, Idempotency_Key="c")
    second = call("post", "/comparisons", body, Idempotency_Key="c")
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json() == second.json()
    assert len(first.json()["searches"]) == 4
    assert [entry.verb for entry in AuditEntry.objects.all()] == ["launch"]
    whole = call("get", f"/comparisons/{first.json()['id']}").json()
    assert set(whole["arms"]) == {"two_stage", "mixed"}
    numbers = ",".join(map(str, first.json()["searches"]))
    assert len(call("get", f"/side-by-side?s={numbers}").json()["groups"]) == 2
    assert call("post", "/comparisons", body | {"seeds": [2]}, Idempotency_Key="c").status_code == 409
    much = body | {"options": {"budget": {"evaluations": 9_000}}}
    assert call("post", "/comparisons", much).json()["errors"][0]["field"] == "options.budget.evaluations"


@pytest.mark.parametrize(
    ("path", "rows"), [("/searches", Search), ("/comparisons", Comparison)], ids=["search", "comparison"]
)
def test_many_at_once_with_one_key_have_one_effect(transactional_db, call, site, token, path, rows):
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": "one"}
    body = BODY | ({"strategies": ["two_stage", "mixed"]} if rows is Comparison else {})

    def launch(_):
        try:
            return Client().post(f"/api/v1{path}", body, content_type="application/json", headers=headers)
        finally:
            connection.close()

    with ThreadPoolExecutor(AT_A_TIME) as pool:
        answers = list(pool.map(launch, range(AT_A_TIME)))
    assert sorted(answer.status_code for answer in answers) == [200] * (AT_A_TIME - 1) + [201]
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert rows.objects.count() == AuditEntry.objects.filter(verb="launch").count() == 1
