"""Share links, notices and webhooks over the API."""

from __future__ import annotations

import pytest

from kernelsite.accounts.models import AuditEntry, Membership, Scope
from kernelsite.api.ks.share import kind_of
from kernelsite.notices.models import Event
from kernelsite.notices.notify import notify
from kernelsite.shares.models import Share

ALL = tuple(Scope)
HOOK = {"name": "chat", "url": "http://127.0.0.1:9/secret-path", "events": ["record"]}


@pytest.fixture
def ask(call):
    def ask(method, path, document=None, scopes=ALL):
        return call(method, path, document, scopes=scopes)

    return ask


def test_links_of_every_kind_by_the_names_that_people_use(ask, grown, client):
    ask("put", "/saved-sets/kept", {"title": "Kept", "searches": [grown.pk]})
    things = {"search": f"S-{grown.pk}", "structure": f"ST-{grown.pk}.1", "set": "kept"}
    for kind, thing in things.items():
        made = ask("post", "/shares", {"kind": kind, "thing": thing})
        assert made.status_code == 201, made.text
        assert client.get(made.json()["link"]).status_code == 200
        assert kind_of(thing) == kind
    assert [row["kind"] for row in ask("get", "/shares").json()["items"]] == ["set", "structure", "search"]
    assert all("link" not in row for row in ask("get", "/shares").json()["items"])
    for kind, thing in (("search", "S-999"), ("search", "x"), ("structure", "1"), ("set", "none")):
        assert ask("post", "/shares", {"kind": kind, "thing": thing}).status_code == 404


def test_a_name_says_what_it_names():
    names = {
        "142": "search",
        "CMP-3": "comparison",
        "R-5": "release",
        "142.17": "structure",
        "r-and-d": "set",
    }
    assert {name: kind_of(name) for name in names} == names


def test_a_link_ends_once_and_is_not_made_longer_then(ask, grown, client):
    made = ask("post", "/shares", {"kind": "search", "thing": grown.pk}).json()
    longer = ask("post", f"/shares/{made['id']}/extend", {"days": 20})
    assert longer.json()["expires_at"] > made["expires_at"]
    assert ask("post", f"/shares/{made['id']}/extend", {"days": 2}).status_code == 409
    assert ask("post", f"/shares/{made['id']}/extend", {"days": 999}).status_code == 409
    for _ in range(2):
        assert ask("delete", f"/shares/{made['id']}").status_code == 204
    assert client.get(made["link"]).status_code == 404
    assert AuditEntry.objects.filter(verb="revoke share").count() == 1
    assert ask("get", "/shares").json()["items"] == []
    assert ask("get", "/shares?ended=true").json()["items"][0]["is_ended"]


def test_switches_and_scopes_hold_for_programs_too(ask, grown, alice):
    body = {"kind": "search", "thing": grown.pk, "code": True}
    assert ask("post", "/shares", body, scopes=("read", "launch", "admin", "team")).status_code == 403
    Membership.objects.filter(user=alice).update(role="member")
    assert ask("post", "/shares", body).status_code == 403
    Membership.objects.filter(user=alice).update(role="admin")
    closed = ask("put", "/sharing", {"is_open": False, "longest_days": 5})
    assert closed.json() == {"is_open": False, "longest_days": 5, "is_site_open": True}
    assert ask("post", "/shares", body).status_code == 403
    ask("put", "/sharing", {"is_open": True, "longest_days": 5})
    assert ask("post", "/shares", body).json()["errors"][0]["field"] == "days"
    assert not Share.objects.exists()


def test_notices_are_read_by_their_person(ask, team, alice):
    for number in range(3):
        notify(team, Event.RECORD, f"record {number}", key=f"r{number}")
    first = ask("get", "/notices").json()["items"]
    assert [row["title"] for row in first] == ["record 2", "record 1", "record 0"]
    assert ask("post", "/notices/read", {"notice": first[0]["id"]}).json() == {"read": 1}
    assert len(ask("get", "/notices?unread=true").json()["items"]) == 2
    assert ask("post", "/notices/read", {}).json() == {"read": 2}
    assert ask("post", "/notices/read", {"notice": 10**6}).status_code == 404


def test_a_webhook_s_address_is_written_and_never_read(ask, team):
    made = ask("post", "/webhooks", HOOK)
    assert (made.status_code, made.json()["host"]) == (201, "127.0.0.1")
    path = f"/webhooks/{made.json()['id']}"
    tried = ask("post", f"{path}/test")
    assert (tried.status_code, tried.json()["state"] == "sent") == (200, False)
    assert tried.json()["tries"]
    again = ask("post", f"{path}/deliveries/{tried.json()['id']}/again")
    assert again.status_code == 200
    off = ask("post", f"{path}/off")
    assert (off.json()["off_at"] is None, ask("post", f"{path}/on").json()["off_at"]) == (False, None)
    shown = [ask("get", "/webhooks"), ask("get", f"{path}/deliveries"), made, tried, off]
    assert not any("secret-path" in answer.text for answer in shown)
    assert "secret" not in ask("get", "/webhooks").json()[0]
    assert ask("post", "/webhooks", HOOK | {"events": ["luck"]}).json()["errors"][0]["field"] == "events"
    assert ask("delete", path).status_code == 204
    assert ask("get", f"{path}/deliveries").status_code == 404
