"""Models, people, tokens and the trail over the API."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model

from kernelsite.accounts.models import ApiToken, AuditEntry, Invitation, Membership, Scope
from kernelsite.endpoints.models import ModelEndpoint

KEY = "sk-never-to-be-seen-again-0123456789"
MODEL = {"name": "m", "base_url": "http://127.0.0.1:9/v1", "model": "small", "key": KEY}
ALL = tuple(Scope)


@pytest.fixture
def ask(call):
    """A token with every scope."""

    def ask(method, path, document=None, scopes=ALL):
        return call(method, path, document, scopes=scopes)

    return ask


def test_a_model_s_key_is_written_and_never_read(ask, team):
    made = ask("post", "/models", MODEL)
    assert made.status_code == 201
    row = ModelEndpoint.objects.get()
    assert row.open_record().api_key.get_secret_value() == KEY
    changed = ask("patch", f"/models/{row.pk}", {"concurrency": 9})
    assert (changed.json()["concurrency"], changed.json()["model"]) == (9, "small")
    assert ModelEndpoint.objects.get().open_record().api_key.get_secret_value() == KEY
    moved = ask("patch", f"/models/{row.pk}", {"base_url": "http://127.0.0.1:10/v1"})
    assert (changed.json()["has_key"], moved.json()["has_key"]) == (True, False)
    price = {"input_usd": 1, "output_usd": 2, "valid_from": "2026-01-01"}
    priced = ask("post", f"/models/{row.pk}/prices", price)
    assert priced.json()["prices"][0]["output_usd"] == 2.0
    texts = [answer.text for answer in (made, changed, moved, priced, ask("get", "/models"))]
    trail = str(list(AuditEntry.objects.values()))
    assert not any(KEY in text for text in [*texts, trail])
    assert ask("delete", f"/models/{row.pk}").status_code == 204
    assert ask("get", f"/models/{row.pk}").status_code == 404


def test_a_model_s_fields_are_checked_as_on_its_page(ask, team):
    answer = ask("post", "/models", MODEL | {"base_url": "ftp://x", "max_output_tokens": 10**6})
    assert answer.status_code == 422
    assert {error["field"] for error in answer.json()["errors"]} >= {"base_url", "max_output_tokens"}
    assert ask("post", "/models", MODEL, scopes=("read", "launch", "admin")).status_code == 403
    assert not ModelEndpoint.objects.exists()


def test_a_token_hands_on_no_more_than_it_has(ask, team):
    made = ask("post", "/tokens", {"name": "ci", "scopes": ["read"]}, scopes=("read", "team"))
    child = ApiToken.objects.find(made.json()["token"])
    parent = ApiToken.objects.exclude(pk=child.pk).get()
    assert (child.scopes, child.user, child.team) == (["read"], parent.user, team)
    assert child.expires_at <= parent.expires_at
    more = ask("post", "/tokens", {"name": "ci", "scopes": ["launch"]}, scopes=("read", "team"))
    assert (more.status_code, "launch" in more.json()["detail"]) == (403, True)
    assert ask("post", "/tokens", {"name": "ci"}, scopes=("read",)).status_code == 403
    assert all("token" not in row for row in ask("get", "/tokens").json())


def test_a_token_may_end_itself_and_then_is_dead(ask, team):
    ask("get", "/me", scopes=("read",))
    row = ApiToken.objects.get()
    other = ask("get", "/me", scopes=("launch",)).json()
    assert (other["user"], other["role"], other["scopes"]) == ("alice", "admin", ["launch"])
    assert ask("delete", f"/tokens/{row.pk}", scopes=("launch",)).status_code == 403
    assert ask("delete", f"/tokens/{row.pk}", scopes=("read",)).status_code == 204
    assert ask("get", "/me", scopes=("read",)).status_code == 401


def test_people_come_change_and_go(ask, team, alice, client):
    made = ask("post", "/team/invitations", {"email": "bob@example.org", "role": "viewer"})
    assert made.status_code == 201
    assert client.get(made.json()["link"]).status_code == 200
    assert "link" not in ask("get", "/team").json()["invitations"][0]
    number = Invitation.objects.get().pk
    assert ask("delete", f"/team/invitations/{number}").status_code == 204
    assert client.get(made.json()["link"]).status_code == 404
    bob = get_user_model().objects.create_user("bob")
    place = Membership.objects.create(team=team, user=bob, role="viewer")
    assert ask("patch", f"/team/members/{place.pk}", {"role": "member"}).json()["role"] == "member"
    assert ask("patch", f"/team/members/{place.pk}", {"role": "king"}).status_code == 422
    own = Membership.objects.get(user=alice)
    last = ask("patch", f"/team/members/{own.pk}", {"role": "viewer"})
    assert (last.status_code, "needs an admin" in last.json()["detail"]) == (409, True)
    assert ask("delete", f"/team/members/{place.pk}").status_code == 204
    verbs = [row["verb"] for row in ask("get", "/activity").json()["items"]]
    assert verbs == ["remove", "change role", "take back", "invite"]
    page = ask("get", "/activity?verb=invite&fields=actor,name").json()
    assert page["items"] == [{"actor": "alice", "name": "bob@example.org as viewer"}]
