from __future__ import annotations

import itertools

import pytest
from django.test import Client

from kernelsite.accounts.models import AuditEntry, Membership, Role, Team
from kernelsite.accounts.roles import NEEDS, SCOPE_OF, Act, may


def place(user):
    return Membership.objects.get(user=user)


def test_a_role_includes_the_ones_before_it():
    assert set(NEEDS) == set(Act)
    assert set(SCOPE_OF) <= set(Act)
    allowed = [{act for act in Act if may(role, act)} for role in Role]
    assert all(less <= more for less, more in itertools.pairwise(allowed))
    assert allowed[0] == {Act.KEEP_VIEWS}
    assert allowed[-1] == set(Act)
    assert not any(may(None, act) for act in Act)


def test_an_admin_changes_a_role_and_removes(as_alice, member):
    bob = member("bob", "viewer")
    as_alice.post(f"/settings/team/members/{place(bob).pk}", {"role": "maintainer"})
    assert place(bob).role == Role.MAINTAINER
    as_alice.post(f"/settings/team/members/{place(bob).pk}", {"role": "removed"})
    assert not Membership.objects.filter(user=bob).exists()
    told = AuditEntry.objects.order_by("id").values_list("actor", "verb", "before", "after")
    assert list(told) == [
        ("alice", "change role", {"role": "viewer"}, {"role": "maintainer"}),
        ("alice", "remove", {"role": "maintainer"}, {}),
    ]


@pytest.mark.parametrize("role", ["viewer", "removed"])
def test_the_last_admin_stays(as_alice, alice, member, role):
    answer = as_alice.post(f"/settings/team/members/{place(alice).pk}", {"role": role}, follow=True)
    assert "needs an admin" in answer.content.decode()
    assert place(alice).role == Role.ADMIN
    member("carol", "admin")
    as_alice.post(f"/settings/team/members/{place(alice).pk}", {"role": role})
    assert not Membership.objects.filter(user=alice, role=Role.ADMIN).exists()


def test_an_unknown_role_is_not_found(as_alice, alice):
    assert as_alice.post(f"/settings/team/members/{place(alice).pk}", {"role": "emperor"}).status_code == 404


def test_the_switch_leads_to_own_teams_only(as_alice, alice, kernels):
    own, foreign = (Team.objects.create(name=name, slug=name) for name in ("own", "foreign"))
    Membership.objects.create(team=own, user=alice, role=Role.VIEWER)
    assert as_alice.post("/settings/team/switch", {"team": own.pk}).status_code == 302
    page = as_alice.get("/settings/team/")
    assert (page.wsgi_request.team, page.wsgi_request.role) == (own, Role.VIEWER)
    # In this team alice is a viewer only.
    assert as_alice.post("/settings/team/invite", {"email": "a@b.org", "role": "admin"}).status_code == 403
    for word in (foreign.pk, "x", "9" * 30):
        assert as_alice.post("/settings/team/switch", {"team": word}).status_code == 404
    Membership.objects.filter(team=own).delete()
    assert as_alice.get("/settings/team/").wsgi_request.team == kernels


def test_a_refusal_says_which_role_is_needed(member):
    browser = Client()
    browser.force_login(member("bob", "viewer"))
    answer = browser.get("/searches/new/")
    assert answer.status_code == 403
    assert "role of a member or more" in answer.content.decode()
