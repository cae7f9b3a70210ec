from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.utils import timezone

from kernelsite.accounts.models import AuditEntry, Invitation, Membership, Role, Team

ACCOUNT = {"username": "bob", "password1": "seven green kernels", "password2": "seven green kernels"}


@pytest.fixture
def link(as_alice):
    """Path of a fresh invitation of bob as reviewer."""
    answer = as_alice.post("/settings/team/invite", {"email": "bob@example.org", "role": "reviewer"})
    return re.search(r"http://testserver(/accounts/invitations/[\w-]+/)", answer.content.decode())[1]


def role_of(name):
    return Membership.objects.filter(user__username=name).values_list("role", flat=True).first()


def test_somebody_without_an_account_makes_one_and_is_in(link):
    browser = Client()
    page = browser.get(link)
    assert page.headers["Referrer-Policy"] == "no-referrer"
    assert "bob@example.org" in page.content.decode()
    assert browser.post(link, ACCOUNT).status_code == 302
    assert role_of("bob") == Role.REVIEWER
    assert get_user_model().objects.get(username="bob").email == "bob@example.org"
    assert browser.get("/settings/team/").status_code == 200
    assert AuditEntry.objects.filter(verb="join", actor="bob").count() == 1


def test_it_works_once(link):
    Client().post(link, ACCOUNT)
    assert Client().get(link).status_code == 404
    assert Client().post(link, ACCOUNT | {"username": "carol"}).status_code == 404
    assert not get_user_model().objects.filter(username="carol").exists()


def test_somebody_with_an_account_needs_the_right_address(link, member):
    others = Team.objects.create(name="Others", slug="others")
    browser = Client()
    browser.force_login(member("mallory", "admin", others))
    assert browser.post(link).status_code == 422
    browser.force_login(member("bob", "admin", others))
    assert browser.post(link).status_code == 302
    assert set(Membership.objects.filter(user__username="bob").values_list("team__slug", "role")) == {
        ("others", "admin"),
        ("kernels", "reviewer"),
    }
    assert not Membership.objects.filter(user__username="mallory", team__slug="kernels").exists()


def test_an_address_that_has_an_account_makes_no_second_one(link):
    get_user_model().objects.create_user("robert", "Bob@example.org", "a password of ours")
    assert Client().post(link, ACCOUNT).status_code == 422
    assert not get_user_model().objects.filter(username="bob").exists()


def test_a_weak_password_is_refused_and_uses_nothing_up(link):
    weak = ACCOUNT | {"password1": "password", "password2": "password"}
    assert Client().post(link, weak).status_code == 422
    assert Client().post(link, ACCOUNT).status_code == 302


def test_a_name_that_differs_by_case_only_is_taken(link):
    assert Client().post(link, ACCOUNT | {"username": "ALICE"}).status_code == 422
    assert Invitation.objects.open().exists()


def test_expired_taken_back_replaced_and_unknown_links_look_alike(link, as_alice):
    unknown = Client().get("/accounts/invitations/unknown/")
    assert unknown.status_code == 404
    row = Invitation.objects.get()
    row.expires_at = timezone.now() - timedelta(seconds=1)
    row.save()
    assert Client().get(link).content == unknown.content
    row.expires_at = timezone.now() + timedelta(days=1)
    row.save()
    assert Client().get(link).status_code == 200
    as_alice.post("/settings/team/invite", {"email": "BOB@example.org", "role": "viewer"})
    assert Client().get(link).status_code == 404
    newest = Invitation.objects.open().get()
    as_alice.post(f"/settings/team/invitations/{newest.pk}/revoke")
    assert not Invitation.objects.open().exists()


def test_who_may_not_invite_any_more_lets_nobody_in(link, alice):
    Membership.objects.filter(user=alice).update(role=Role.MAINTAINER)
    assert Client().post(link, ACCOUNT).status_code == 404
    assert role_of("bob") is None


def test_the_secret_is_not_kept(link):
    secret = link.split("/")[-2]
    assert len(secret) == 43
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM accounts_invitation")
        assert secret not in str(cursor.fetchall())
        cursor.execute("SELECT * FROM accounts_auditentry")
        assert secret not in str(cursor.fetchall())


def test_a_bad_address_is_told_at_its_field(as_alice):
    answer = as_alice.post("/settings/team/invite", {"email": "nobody", "role": "emperor"})
    assert answer.status_code == 422
    assert set(answer.context["form"].errors) == {"email", "role"}


@pytest.mark.django_db(transaction=True)
def test_many_who_accept_at_once_use_it_once():
    user = get_user_model().objects.create_user("alice")
    row = Invitation(team=Team.objects.create(name="K", slug="k"), email="b@example.org", created_by=user)
    row.issue()

    def accept(_):
        try:
            return Invitation.objects.accept(row.pk)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(accept, range(20))) == 1
