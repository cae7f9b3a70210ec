from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model

from kernelsite.accounts.models import AuditEntry, Membership, Team
from kernelsite.fleet.models import Device
from kernelsite.searches.models import Search

BODY = {"workload": "softmax", "title": "by a program", "options": {"budget": {"evaluations": 8}}}


def test_a_program_launches_watches_and_stops(call, site, alice, team):
    answer = call("post", "/searches", BODY)
    assert answer.status_code == 201
    row = answer.json()
    search = Search.objects.get()
    assert (search.team, search.created_by, search.title) == (team, alice, "by a program")
    assert call("get", f"/searches/{row['id']}").json()["state"] == "queued"
    for action, state in (("pause", "paused"), ("resume", "running"), ("stop", "stopped")):
        assert call("post", f"/searches/{row['id']}/{action}").json()["state"] == state
    again = call("post", f"/searches/{row['id']}/resume")
    assert again.status_code == 409
    assert again.headers["Content-Type"] == "application/problem+json"
    assert "cannot be resumed" in again.json()["detail"]
    told = AuditEntry.objects.order_by("id")
    assert [entry.verb for entry in told] == ["launch", "pause", "resume", "stop"]
    assert {entry.token[:3] for entry in told} == {"ks_"}
    assert told[3].after == {"state": "stopped"}


def test_the_same_key_launches_once(call, site):
    first = call("post", "/searches", BODY, Idempotency_Key="k")
    second = call("post", "/searches", BODY, Idempotency_Key="k")
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json()["id"] == second.json()["id"]
    other = BODY | {"options": {"budget": {"evaluations": 9}}}
    assert call("post", "/searches", other, Idempotency_Key="k").status_code == 409
    assert Search.objects.count() == AuditEntry.objects.count() == 1


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"workload": "nothing"}, "workload"),
        ({"workload": "softmax@99"}, "workload"),
        ({"library": "core; drop"}, "library"),
        ({"options": {"budget": {"evaluations": -1}}}, "options.budget.evaluations"),
        ({"options": {"budget": {"evaluations": 8}, "strategy": "luck"}}, "options.strategy"),
        ({"options": {"budget": {"evaluations": 8}, "sudo": True}}, "options.sudo"),
    ],
)
def test_bad_fields_are_named(call, site, change, field):
    answer = call("post", "/searches", BODY | change)
    assert answer.status_code == 422
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert [error["field"] for error in answer.json()["errors"]] == [field]
    assert not Search.objects.exists()


def test_a_token_can_do_what_its_scopes_and_its_owner_may(call, site, alice):
    assert call("post", "/searches", BODY, scopes=("read",)).status_code == 403
    assert call("get", "/searches", scopes=("launch",)).status_code == 403
    assert call("post", f"/devices/{site.pk}/drain", {}, scopes=("launch",)).status_code == 403
    Membership.objects.filter(user=alice).update(role="viewer")
    refused = call("post", "/searches", BODY)
    assert refused.status_code == 403
    assert "role of a member" in refused.json()["detail"]
    assert call("get", "/searches").status_code == 200


def test_without_a_token_the_answer_says_what_to_send(client, db):
    answer = client.get("/api/v1/devices")
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert answer.json()["title"] == "Unauthorized"


def test_lists_are_paged_and_hold_the_team_s_only(call, site):
    ids = [call("post", "/searches", BODY | {"title": f"{n}"}).json()["id"] for n in range(3)]
    foreign = Team.objects.create(name="Others", slug="others")
    Search.objects.filter(pk=ids[0]).update(team=foreign)
    first = call("get", "/searches?limit=1").json()
    assert ([row["id"] for row in first["items"]], first["next"]) == ([ids[2]], ids[2])
    second = call("get", f"/searches?limit=1&before={first['next']}").json()
    assert ([row["id"] for row in second["items"]], second["next"]) == ([ids[1]], None)
    assert call("get", f"/searches/{ids[0]}").status_code == 404
    assert call("post", f"/searches/{ids[0]}/stop").status_code == 404
    assert call("get", "/searches?limit=0").status_code == 422
    assert call("get", "/comparisons").json() == {"items": [], "next": None}


def test_a_device_is_drained_with_a_reason(call, site):
    answer = call("post", f"/devices/{site.pk}/drain", {"reason": "new driver"})
    assert answer.json()["state"] == "drained"
    assert Device.objects.get().reason == AuditEntry.objects.get().reason == "new driver"
    assert call("get", "/devices").json()[0]["name"] == "synthetic"
    assert call("post", f"/devices/{site.pk}/destroy", {}).status_code == 422


def test_the_description_names_every_operation(client, team):
    client.force_login(get_user_model().objects.get())
    document = client.get("/api/openapi.json").json()
    page = client.get("/api/docs/").content.decode()
    assert "/api/v1/searches/{search_id}/pause" in document["paths"]
    for path, methods in document["paths"].items():
        assert path in page
        assert all(about["security"] for about in methods.values())
    assert "Idempotency-Key" in page
