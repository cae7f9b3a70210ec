from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from kernelsite.accounts.models import ApiToken, Membership, token
from kernelsite.accounts.models.token import PER_MINUTE, PREFIX, is_token, new_token

FORM = {"name": "nightly", "days": "30", "scopes": ["read"]}


@pytest.fixture
def text(as_alice):
    """A token of alice, as the page shows it."""
    page = as_alice.post("/settings/tokens/new", FORM).content.decode()
    return re.search(r"ks_[0-9a-zA-Z]{49}", page)[0]


def status(text, **extra):
    return Client().get("/api/v1/searches", headers={"Authorization": f"Bearer {text}"}, **extra).status_code


def test_it_is_shown_once_and_kept_as_a_digest(text, as_alice):
    assert text not in as_alice.get("/settings/tokens/").content.decode()
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM accounts_apitoken")
        kept = str(cursor.fetchall())
    assert text not in kept
    assert text[:PREFIX] in kept
    assert status(text) == 200


def test_a_wrong_checksum_costs_no_query(text, django_assert_num_queries):
    assert is_token(text)
    changed = text[:-1] + ("a" if text[-1] != "a" else "b")
    assert not is_token(changed)
    with django_assert_num_queries(0):
        assert status(changed) == 401
    assert status(new_token()) == 401
    assert not any(is_token(each) for each in ("", "ks_", "ks_" + "é" * 49, text + "0", " " + text))


def test_it_ends_with_revocation_expiry_removal_and_the_account(text, as_alice, alice):
    row = ApiToken.objects.get()
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert status(text) == 401
    ApiToken.objects.update(expires_at=row.expires_at)
    assert status(text) == 200
    alice.is_active = False
    alice.save()
    assert status(text) == 401
    alice.is_active = True
    alice.save()
    place = Membership.objects.get(user=alice)
    place.delete()
    assert status(text) == 401
    place.save(force_insert=True)
    assert status(text) == 200
    as_alice.post(f"/settings/tokens/{row.pk}/revoke")
    assert status(text) == 401


def test_a_session_is_no_token(as_alice):
    assert as_alice.get("/api/v1/searches").status_code == 401
    assert as_alice.post("/api/v1/searches/1/stop").status_code == 401


def test_the_last_use_is_noted_and_requests_are_counted(text):
    answer = Client().get("/api/v1/searches", headers={"Authorization": f"Bearer {text}"})
    row = ApiToken.objects.get()
    assert timezone.now() - row.last_used_at < timedelta(seconds=20)
    assert answer.headers["RateLimit-Remaining"] == f"{PER_MINUTE - row.used}"


def test_too_many_requests_in_a_minute_are_refused(text, monkeypatch):
    monkeypatch.setattr(token, "PER_MINUTE", 2)
    # Five fall into two minutes at most, so that one of them has three.
    answers = [status(text) for _ in range(5)]
    assert answers[:2] == [200, 200]
    assert 429 in answers


@pytest.mark.parametrize(
    ("field", "value"), [("days", "366"), ("days", "0"), ("scopes", ["root"]), ("name", "")]
)
def test_bad_wishes_are_told_at_their_field(as_alice, field, value):
    answer = as_alice.post("/settings/tokens/new", FORM | {field: value})
    assert answer.status_code == 422
    assert set(answer.context["form"].errors) == {field}
    assert not ApiToken.objects.exists()


def test_others_do_not_see_a_token_but_admins_do(text, member, as_alice):
    browser = Client()
    browser.force_login(member("bob", "maintainer"))
    assert not list(browser.get("/settings/tokens/").context["tokens"])
    browser.post("/settings/tokens/new", FORM | {"name": "bob's"})
    assert {row.name for row in as_alice.get("/settings/tokens/").context["tokens"]} == {"nightly", "bob's"}
