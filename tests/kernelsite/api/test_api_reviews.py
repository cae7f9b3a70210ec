"""Reviews and gates over the API; what counts and why is tested with the deeds themselves."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model

from kernelsite.accounts.models import AuditEntry, Membership, Scope
from kernelsite.reviews.models import Entry, Review

ALL = tuple(Scope)


@pytest.fixture
def ask(call):
    def ask(method, path, document=None, scopes=ALL, **headers):
        return call(method, path, document, scopes=scopes, **headers)

    return ask


@pytest.fixture
def proposal(ask, grown):
    """Alice's proposal of the best structure of a search."""
    number = grown.structures.exclude(best_candidate="").order_by("number").first().number
    made = ask("post", "/reviews", {"structure": f"{grown.pk}.{number}", "license": "MIT", "text": "look"})
    assert made.status_code == 201, made.text
    return made.json()


def test_a_structure_is_proposed_once(ask, proposal):
    again = ask("post", "/reviews", {"structure": proposal["structure"]})
    assert (again.status_code, again.json()["id"]) == (200, proposal["id"])
    assert Review.objects.count() == AuditEntry.objects.filter(verb="propose").count() == 1
    assert [row["short"] for row in ask("get", "/reviews?state=open").json()["items"]] == [proposal["short"]]
    assert ask("get", "/reviews?state=approved").json()["items"] == []


def test_a_comment_with_one_key_is_made_once_and_lines_are_checked(ask, proposal):
    path = f"/reviews/{proposal['id']}/comment"
    for _ in range(2):
        said = ask("post", path, {"text": "why?"}, Idempotency_Key="k")
        assert [row["kind"] for row in said.json()["entries"]] == ["proposed", "commented"]
    program = ask("get", f"/candidates/{proposal['candidate']}").json()
    place = {"text": "here", "path": program["sources"][0]["path"], "line": 1}
    assert ask("post", path, place).json()["entries"][-1]["line"] == 1
    wrong = ask("post", path, place | {"line": 10**6})
    assert (wrong.status_code, "no line" in wrong.json()["detail"]) == (409, True)
    assert Entry.objects.count() == 3


def test_nobody_approves_what_gates_refuse_and_viewers_decide_nothing(ask, proposal, team, alice):
    seen = ask("get", f"/reviews/{proposal['id']}").json()
    body = {"seen": seen["seen"], "checked": list(seen["checklist"])}
    refused = ask("post", f"/reviews/{proposal['id']}/approve", body)
    assert refused.status_code == 409
    assert not all(each["is_green"] for each in seen["gates"])
    narrow = ask(
        "post", f"/reviews/{proposal['id']}/approve", body, scopes=("read", "launch", "admin", "team")
    )
    assert (narrow.status_code, "review" in narrow.json()["detail"]) == (403, True)
    bob = get_user_model().objects.create_user("bob")
    Membership.objects.create(team=team, user=bob, role="admin")
    Membership.objects.filter(user=alice).update(role="viewer")
    assert ask("post", f"/reviews/{proposal['id']}/changes", {"text": "no"}).status_code == 403
    Membership.objects.filter(user=alice).update(role="member")
    assert ask("post", f"/reviews/{proposal['id']}/withdraw", {}).json()["state"] == "withdrawn"


def test_a_search_that_waits_for_nothing_is_not_decided(ask, grown):
    path = f"/searches/{grown.pk}/gate"
    told = ask("get", path).json()
    assert not told["is_at_gate"]
    assert told["structures"]
    ruling = {"structure": told["structures"][0]["number"], "verdict": "retained", "reason": "fast"}
    answer = ask("post", path, {"rulings": [ruling]})
    assert (answer.status_code, "waits for no decision" in answer.json()["detail"]) == (409, True)
    for wrong in ({"rulings": []}, {"rulings": [ruling | {"structure": 999}]}, {"add": "1:nothing"}):
        assert ask("post", path, wrong).status_code == 409
    assert ask("post", path, {"rulings": [ruling | {"reason": ""}]}).status_code == 422
