from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model

from kernelsite.accounts.models import Membership, Team


@pytest.fixture
def kernels(db):
    return Team.objects.create(name="Kernels", slug="kernels")


@pytest.fixture
def member(kernels):
    """Makes a user with a role in the team."""

    def build(name, role, team=kernels):
        user = get_user_model().objects.create_user(name, f"{name}@example.org", "a password of ours")
        Membership.objects.create(team=team, user=user, role=role)
        return user

    return build


@pytest.fixture
def alice(member):
    return member("alice", "admin")


@pytest.fixture
def as_alice(client, alice):
    client.force_login(alice)
    return client
