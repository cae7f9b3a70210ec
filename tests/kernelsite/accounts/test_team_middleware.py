from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.db import IntegrityError
from django.test import RequestFactory

from kernelsite.accounts.middleware import team
from kernelsite.accounts.models import Membership, Role, Team

pytestmark = pytest.mark.django_db


def team_seen_by(user, **session):
    request = RequestFactory().get("/")
    request.user, request.session = user, session
    return team(lambda request: request.team)(request)


def test_it_works():
    alice = get_user_model().objects.create_user("alice")
    first, second = (Team.objects.create(name=name, slug=name) for name in ("b", "a"))
    Membership.objects.create(team=first, user=alice, role=Role.ADMIN)
    Membership.objects.create(team=second, user=alice)
    assert team_seen_by(alice) == first
    assert team_seen_by(alice, team=second.pk) == second
    # A choice that was taken away falls back to the first.
    assert team_seen_by(alice, team=second.pk + 1) == first


def test_a_stranger_and_somebody_without_a_team_have_none():
    assert team_seen_by(AnonymousUser()) is None
    assert team_seen_by(get_user_model().objects.create_user("bob")) is None


def test_nobody_is_in_a_team_twice():
    alice, kernels = get_user_model().objects.create_user("alice"), Team.objects.create(name="k", slug="k")
    Membership.objects.create(team=kernels, user=alice)
    with pytest.raises(IntegrityError):
        Membership.objects.create(team=kernels, user=alice)
